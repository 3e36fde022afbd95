"""Files that are there whole or not at all, whenever a run is interrupted."""

from __future__ import annotations

from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Write ``content`` to ``path``, whose folder is made if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_bytes(content.encode() if isinstance(content, str) else content)
    draft.replace(path)
