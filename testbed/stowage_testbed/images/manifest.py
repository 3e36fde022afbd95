"""Archives in the format of `docker save`: their contents, and where two differ."""

from __future__ import annotations

import json
import tarfile
from hashlib import sha256
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


def differing_files(one: Path, other: Path) -> list[str]:
    """Return the names of all files that differ between two archives, in order.

    Content, mode, owner and time count. Layers that are equal are not opened.
    """
    first, second = (read_manifest(archive)["Layers"] for archive in (one, other))
    left = _files(one, [name for name in first if name not in second])
    right = _files(other, [name for name in second if name not in first])
    names = left.keys() | right.keys()
    return sorted(name for name in names if left.get(name) != right.get(name))


def _files(archive: Path, layers: list[str]) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    with tarfile.open(archive) as tar:
        for layer in layers:
            with tarfile.open(fileobj=open_member(tar, layer)) as files:
                for file in files:
                    content = files.extractfile(file) if file.isfile() else None
                    said = sha256(content.read()).hexdigest() if content else ""
                    found[file.name] = (
                        said,
                        file.linkname,
                        file.mode,
                        file.uid,
                        file.mtime,
                    )
    return found
