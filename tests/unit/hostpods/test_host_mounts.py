"""Mount paths as links."""

from __future__ import annotations

from pathlib import Path

import pytest
from host_builders import a_container

from stowage_testbed.hostpods.errors import HostPodsError
from stowage_testbed.hostpods.mounts import Mounts


def mounts(folder: Path, pod: str = "one") -> Mounts:
    volumes = folder / "hostpods" / pod / "volumes"
    (volumes / "v").mkdir(parents=True, exist_ok=True)
    return Mounts(folder / "mnt", volumes)


def link(at: Mounts, path: Path | str) -> None:
    mount = {"name": "v", "mountPath": str(path)}
    at.link(a_container("true", volumeMounts=[mount]))


def test_two_containers_of_a_pod_share_a_mount(tmp_path: Path) -> None:
    """The scheduler finds the optimiser's socket this way."""
    at = mounts(tmp_path)
    path = tmp_path / "mnt" / "deep" / "socket"
    link(at, path)
    link(at, path)

    (at.volumes / "v" / "file").write_text("shared")

    assert (path / "file").read_text() == "shared"


@pytest.mark.parametrize("path", ["/etc/stowage", "{w}/mnt", "{w}/mnt/../secret"])
def test_paths_outside_the_work_directory_are_refused(
    tmp_path: Path, path: str
) -> None:
    """A pod of the testbed must never change the machine."""
    with pytest.raises(HostPodsError, match="does not lie under"):
        link(mounts(tmp_path), path.format(w=tmp_path))


def test_a_path_that_another_pod_holds_is_refused(tmp_path: Path) -> None:
    """Two pods would overwrite each other's files."""
    path = tmp_path / "mnt" / "v"
    first = mounts(tmp_path, "one")
    link(first, path)
    with pytest.raises(HostPodsError, match="in use"):
        link(mounts(tmp_path, "two"), path)

    first.unlink()

    link(mounts(tmp_path, "two"), path)
    assert "two" in str(path.resolve())


def test_a_link_to_a_pod_that_is_gone_is_replaced(tmp_path: Path) -> None:
    """A killed daemon leaves links behind."""
    path = tmp_path / "mnt" / "v"
    path.parent.mkdir()
    path.symlink_to(tmp_path / "hostpods" / "gone" / "volumes" / "v")

    link(mounts(tmp_path), path)

    assert path.exists()
