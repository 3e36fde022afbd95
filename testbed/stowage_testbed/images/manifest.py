"""The table of contents of an archive in the format of `docker save`."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import IO, Any


def read_manifest(archive: Path) -> dict[str, Any]:
    """Return the one image of an archive: `Config`, `RepoTags` and `Layers`."""
    with tarfile.open(archive) as tar:
        (image,) = json.load(open_member(tar, "manifest.json"))
    return dict(image)


def open_member(tar: tarfile.TarFile, name: str) -> IO[bytes]:
    """Return a file of an archive that is open, to be read."""
    member = tar.extractfile(name)
    if member is None:
        raise ValueError(name)
    return member
