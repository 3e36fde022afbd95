"""Volumes as folders."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from host_builders import JumpingClock, MemoryApi, a_container, a_pod

from stowage_testbed.hostpods.errors import HostPodsError
from stowage_testbed.hostpods.volume_writing import (
    FileContent,
    remove_tree,
    write_atomically,
)
from stowage_testbed.hostpods.volumes import Volumes


class Node:
    """One pod's volumes on a node with a clock of its own."""

    def __init__(self, folder: Path) -> None:
        self.clock = JumpingClock()
        self.api = MemoryApi(self.clock)
        self.volumes = Volumes(folder / "volumes", self.api, self.clock)

    def fill(self, **source: Any) -> Path:
        """Fill one volume from a source and return its folder."""
        pod = a_pod(a_container("true"), volumes=[{"name": "v", **source}])
        asyncio.run(self.volumes.fill(pod))
        return self.volumes.folder / "v"


def files(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): file.read_text()
        for entry in folder.iterdir()
        if not entry.name.startswith("..")
        for file in ([entry] if entry.is_file() else entry.rglob("*"))
    }


def test_a_config_map_shows_its_keys_with_the_asked_modes(tmp_path: Path) -> None:
    """`items` renames keys, and each may have a mode of its own."""
    node = Node(tmp_path)
    keys = {"data": {"a": "1"}, "binaryData": {"b": "Mg==", "c": "Mw=="}}
    node.api.objects["configmaps/settings"] = keys
    items = [{"key": "a", "path": "deep/one"}, {"key": "b", "path": "two", "mode": 256}]

    source = {"name": "settings", "items": items, "defaultMode": 0o640}
    folder = node.fill(configMap=source)

    assert files(folder) == {"deep/one": "1", "two": "2"}
    assert (folder / "deep/one").stat().st_mode & 0o777 == 0o640
    assert (folder / "two").stat().st_mode & 0o777 == 0o400


def test_a_missing_source_keeps_the_pod_waiting_unless_optional(tmp_path: Path) -> None:
    """A program must not start without its configuration."""
    node = Node(tmp_path)
    with pytest.raises(HostPodsError, match="ConfigMap ns/absent"):
        node.fill(configMap={"name": "absent"})
    with pytest.raises(HostPodsError, match="Secret ns/absent"):
        node.fill(secret={"secretName": "absent"})

    assert files(node.fill(configMap={"name": "absent", "optional": True})) == {}


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    """The message must say which of many keys it is."""
    node = Node(tmp_path)
    node.api.objects["secrets/keys"] = {"data": {"a": "MQ=="}}
    source = {"secretName": "keys", "items": [{"key": "tls.crt", "path": "x"}]}

    with pytest.raises(HostPodsError, match=r"'tls\.crt'"):
        node.fill(secret=source)


def test_a_projected_volume_joins_its_sources(tmp_path: Path) -> None:
    """What the chart's credentials are made of."""
    node = Node(tmp_path)
    node.api.objects["configmaps/ca"] = {"data": {"ca.crt": "certificate"}}
    node.api.objects["secrets/tls"] = {"data": {"tls.key": "a2V5", "other": "eA=="}}
    folder = node.fill(
        projected={
            "sources": [
                {"serviceAccountToken": {"path": "token", "audience": "them"}},
                {"configMap": {"name": "ca"}},
                {"secret": {"name": "tls", "items": [{"key": "tls.key", "path": "k"}]}},
            ]
        }
    )

    assert files(folder) == {"token": "robot-1", "ca.crt": "certificate", "k": "key"}
    ((path, asked),) = node.api.asked
    assert path == "POST /api/v1/namespaces/ns/serviceaccounts/robot/token"
    assert asked["spec"]["audiences"] == ["them"]
    assert asked["spec"]["expirationSeconds"] == 3600
    assert asked["spec"]["boundObjectRef"]["uid"] == "0123456789abcdef"
    assert (folder / "token").stat().st_mode & 0o777 == 0o600


def test_a_token_is_renewed_when_most_of_its_life_has_passed(tmp_path: Path) -> None:
    """A client that uses an expired token is suddenly nobody."""
    node = Node(tmp_path)
    token = {"serviceAccountToken": {"path": "token", "expirationSeconds": 1000}}
    source = {"projected": {"sources": [token]}}

    seen = []
    for seconds in (0, 799, 801, 1600, 1602):
        node.clock.seconds = seconds
        seen.append((node.fill(**source) / "token").read_text())

    assert seen == ["robot-1", "robot-1", "robot-2", "robot-2", "robot-3"]


def test_an_empty_dir_keeps_what_was_written_into_it(tmp_path: Path) -> None:
    """It lives as long as the pod, through restarts and refreshes."""
    node = Node(tmp_path)
    (node.fill(emptyDir={}) / "kept").write_text("yes")

    assert (node.fill(emptyDir={}) / "kept").read_text() == "yes"


def test_a_change_is_seen_whole_or_not_at_all(tmp_path: Path) -> None:
    """Two files that belong together must never be of two versions."""
    folder = tmp_path / "v"
    old = {"a": FileContent(b"1", 0o600), "gone": FileContent(b"x", 0o600)}
    new = {"a": FileContent(b"2", 0o600), "b": FileContent(b"2", 0o600)}
    write_atomically(folder, old)
    opened = (folder / "..data").resolve()

    assert write_atomically(folder, new)

    assert files(folder) == {"a": "2", "b": "2"}
    assert (folder / "..data").resolve() != opened
    assert not opened.exists()
    assert not write_atomically(folder, new)


def test_read_only_folders_can_be_removed(tmp_path: Path) -> None:
    """The end of a pod must leave nothing, whoever runs the tests."""
    write_atomically(tmp_path / "v", {"a/b": FileContent(b"1", 0o400)})

    remove_tree(tmp_path / "v")

    assert not (tmp_path / "v").exists()
