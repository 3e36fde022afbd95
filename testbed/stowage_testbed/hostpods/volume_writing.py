"""Writing a volume so that no reader ever sees half of it."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

CURRENT = "..data"
READ_ONLY_FOLDER = 0o555


@dataclass(frozen=True, slots=True)
class FileContent:
    """One file: its bytes and its permission bits."""

    data: bytes
    mode: int


Payload = dict[str, FileContent]
"""File contents by path inside the volume."""


def write_atomically(folder: Path, payload: Payload) -> bool:
    """Make the folder show exactly the payload, by one rename; return if it changed.

    The files live in a folder of their own that ``..data`` points to; what the reader
    opens are links through ``..data``. This is the layout that kubelets use, and that
    programs which watch their configuration know.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if _shown(folder) == {path: content.data for path, content in payload.items()}:
        return False
    version = Path(tempfile.mkdtemp(prefix="..", dir=folder))
    for path, content in payload.items():
        file = version / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.data)
        file.chmod(content.mode)
    version.chmod(READ_ONLY_FOLDER)
    current = folder / CURRENT
    former = current.readlink() if current.is_symlink() else None
    _point(current, Path(version.name))
    _link_entries(folder, {path.split("/")[0] for path in payload})
    if former is not None:
        remove_tree(folder / former)
    return True


def remove_tree(folder: Path) -> None:
    """Remove a folder and what is in it, read-only folders included."""
    if not folder.exists():
        return
    for parent, _, _ in os.walk(folder):
        Path(parent).chmod(0o700)
    shutil.rmtree(folder)


def _shown(folder: Path) -> dict[str, bytes] | None:
    current = folder / CURRENT
    if not current.is_dir():
        return None
    return {str(file.relative_to(current)): file.read_bytes() for file in current.rglob("*") if file.is_file()}


def _point(link: Path, target: Path) -> None:
    """Make a link, or move it, in one step."""
    fresh = link.with_name(link.name + "_tmp")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.rename(link)


def _link_entries(folder: Path, names: set[str]) -> None:
    for entry in folder.iterdir():
        if entry.is_symlink() and entry.name != CURRENT and entry.name not in names:
            entry.unlink()
    for name in names:
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(Path(CURRENT) / name)
