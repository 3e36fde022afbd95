"""Room on the cache's disk, looked at before it runs out."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from stowage_testbed import layout
from stowage_testbed.toolchain.errors import NoSpaceError
from stowage_testbed.toolchain.location import tool_folder
from stowage_testbed.toolchain.manifest import Manifest, Tool


def needed_to_build(tools: Sequence[Tool], manifest: Manifest) -> int:
    """Return the bytes that building ``tools`` may take.

    Less once a group has been built before: Go's caches are filled then.
    """
    new = [group for group in _groups(tools) if not _was_installed(group, manifest)]
    building = sum(manifest.space[group].build_bytes for group in new)
    return building + needed_to_install(tools, manifest)


def needed_to_install(tools: Sequence[Tool], manifest: Manifest) -> int:
    """Return the bytes that the finished binaries of ``tools`` may take."""
    return sum(manifest.space[group].install_bytes for group in _groups(tools))


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


def _groups(tools: Sequence[Tool]) -> set[str]:
    return {tool.group for tool in tools}


def _was_installed(group: str, manifest: Manifest) -> bool:
    folders = (tool_folder(tool) for tool in manifest.group(group))
    return any(any(folder.glob("*/*")) for folder in folders)
