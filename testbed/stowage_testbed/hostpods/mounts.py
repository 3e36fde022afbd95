"""Mount paths as links to a volume's folder.

There is no mount namespace on the host. A mount path is a link, therefore only paths
below one folder of the cluster's work directory are allowed, and all containers of all
host pods share them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.hostpods.errors import HostPodsError
from stowage_testbed.hostpods.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Mounts:
    """The links of one pod, below ``root``, to the folders of its volumes."""

    root: Path
    volumes: Path

    def link(self, container: Manifest) -> None:
        """Make the container's mount paths show its volumes.

        Raises
        ------
        HostPodsError
            A path outside the root, or one that another pod or a file holds.
        """
        for mount in container.get("volumeMounts", ()):
            self._link_one(Path(mount["mountPath"]), self.volumes / mount["name"])

    def unlink(self) -> None:
        """Remove the links that show this pod's volumes."""
        for link in self.root.rglob("*"):
            if link.is_symlink() and link.readlink().is_relative_to(self.volumes):
                link.unlink()

    def _link_one(self, path: Path, target: Path) -> None:
        if ".." in path.parts or self.root not in path.parents:
            raise _refused(
                f"mount path {path} does not lie under {self.root}; host pods can "
                "only show volumes there: set the chart's paths to folders below it, "
                "and automountServiceAccountToken to false"
            )
        if path.is_symlink():
            current = path.readlink()
            if current == target:
                return
            if current.is_relative_to(self.volumes) or not current.exists():
                path.unlink()
        if path.exists():
            raise _refused(
                f"mount path {path} is in use by {path.resolve()}; two host pods "
                "cannot mount at one path: wait for the other to end, or choose another"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)


def _refused(why: str) -> HostPodsError:
    return HostPodsError("MountRefused", why)
