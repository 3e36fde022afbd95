"""Archives as `docker save` writes them: one of a program, and where two differ."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from stowage_testbed.toolchain.release import architecture

FOLDER = "usr/local/bin"


def write_program_archive(target: Path, reference: str, program: Path, entrypoint: Sequence[str] = ()) -> None:
    """Write an image whose only content is a program, the same for the same program.

    It is linked statically: there are no libraries. Without an entry point whoever
    starts it names a command, which is found.
    """
    with tempfile.TemporaryFile() as layer:
        with tarfile.open(fileobj=layer, mode="w") as tar:
            member = tarfile.TarInfo(f"{FOLDER}/{program.name}")
            member.size, member.mode = program.stat().st_size, 0o755
            with program.open("rb") as content:
                tar.addfile(member, content)
        size = layer.tell()
        layer.seek(0)
        digest = hashlib.file_digest(layer, "sha256").hexdigest()
        layer.seek(0)
        config = json.dumps(
            {
                "architecture": architecture(),
                "os": "linux",
                "config": {"Env": [f"PATH=/{FOLDER}"], "Entrypoint": list(entrypoint) or None},
                "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
            }
        ).encode()
        name = f"{hashlib.sha256(config).hexdigest()}.json"
        path = f"{digest}.tar"
        manifest = [{"Config": name, "RepoTags": [reference], "Layers": [path]}]
        with tarfile.open(target, "w") as tar:
            _add(tar, name, config)
            member = tarfile.TarInfo(path)
            member.size = size
            tar.addfile(member, layer)
            _add(tar, "manifest.json", json.dumps(manifest).encode())


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


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
                    found[file.name] = (said, file.linkname, file.mode, file.uid, file.mtime)
    return found
