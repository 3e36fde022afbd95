"""What an arm is built from: runs of two builds are not rounds of one comparison."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

DIGITS = 12


def digest(parts: Iterable[str | bytes]) -> str:
    """Return a short digest of parts, which must come in one order."""
    found = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        # With their lengths, no two lists of parts are alike.
        found.update(f"{len(data)}:".encode() + data)
    return found.hexdigest()[:DIGITS]


def folder_parts(folder: Path) -> Iterable[str | bytes]:
    """Yield the files of a folder, each by its name and content, in order."""
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        yield file.relative_to(folder).as_posix()
        yield file.read_bytes()
