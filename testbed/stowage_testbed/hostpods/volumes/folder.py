"""The folder of a pod's volumes, filled and kept up to date."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.hostpods.manifest import Manifest
from stowage_testbed.hostpods.volumes.atomic import remove_tree, write_atomically
from stowage_testbed.hostpods.volumes.contents import VolumeContents


@dataclass(frozen=True, slots=True)
class VolumesFolder:
    """One folder a volume, named for it."""

    path: Path
    contents: VolumeContents

    async def fill(self, pod: Manifest) -> None:
        """Write what has changed since the last time.

        Raises
        ------
        HostPodsError
            A volume cannot be filled; why, by subclass.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        for volume in pod["spec"].get("volumes", ()):
            folder = self.path / volume["name"]
            payload = await self.contents.read(pod, volume)
            if payload is None:
                folder.mkdir(exist_ok=True)
            else:
                write_atomically(folder, payload)

    def remove(self) -> None:
        """Remove all volumes, as the end of a pod does."""
        remove_tree(self.path)
