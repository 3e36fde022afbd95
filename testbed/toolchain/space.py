"""Room on the cache's disk, looked at before it runs out."""

from __future__ import annotations

import shutil
from pathlib import Path

from testbed import layout
from testbed.toolchain.errors import NoSpaceError
from testbed.toolchain.manifest import Manifest


def needed_to_build(manifest: Manifest) -> int:
    """Return the bytes that a build may take: less once Go's caches are filled."""
    if any(layout.tools_folder().glob("*/*/*")):
        return manifest.install_bytes
    return manifest.build_bytes + manifest.install_bytes


def free_bytes(folder: Path) -> int:
    """Return the bytes free for this user on the disk of ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    return shutil.disk_usage(folder).free


def check_space(needed_bytes: int) -> None:
    """Refuse to start what cannot finish.

    Raises
    ------
    NoSpaceError
        Fewer than ``needed_bytes`` are free on the cache's disk.
    """
    folder = layout.cache_folder()
    free = free_bytes(folder)
    if free < needed_bytes:
        raise NoSpaceError(folder, needed_bytes, free)
