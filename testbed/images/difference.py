"""Which files two builds of an image do not have alike."""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path
from typing import IO


def differing_files(one: Path, other: Path) -> list[str]:
    """Return the names of all files that differ between two archives, in order.

    Content, mode, owner and time count. Layers that are equal are not opened.
    """
    first, second = _layers(one), _layers(other)
    left = _files(one, [name for name in first if name not in second])
    right = _files(other, [name for name in second if name not in first])
    names = left.keys() | right.keys()
    return sorted(name for name in names if left.get(name) != right.get(name))


def _layers(archive: Path) -> list[str]:
    with tarfile.open(archive) as tar:
        (manifest,) = json.load(_member(tar, "manifest.json"))
    return [str(layer) for layer in manifest["Layers"]]


def _files(archive: Path, layers: list[str]) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    with tarfile.open(archive) as tar:
        for layer in layers:
            with tarfile.open(fileobj=_member(tar, layer)) as files:
                for file in files:
                    content = files.extractfile(file) if file.isfile() else None
                    said = _digest(content) if content else file.linkname
                    found[file.name] = (said, file.mode, file.uid, file.mtime)
    return found


def _digest(content: IO[bytes]) -> str:
    return hashlib.file_digest(content, "sha256").hexdigest()  # type: ignore[arg-type]


def _member(tar: tarfile.TarFile, name: str) -> IO[bytes]:
    member = tar.extractfile(name)
    if member is None:
        raise ValueError(name)
    return member
