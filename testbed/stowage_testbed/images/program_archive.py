"""An image of one static program, as an archive that Docker and containerd take."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from stowage_testbed.toolchain.release import architecture

FOLDER = "usr/local/bin"


def write_program_archive(
    target: Path, reference: str, program: Path, entrypoint: Sequence[str] = ()
) -> None:
    """Write an image whose only content is a program, the same for the same program.

    Parameters
    ----------
    program
        Linked statically: there are no libraries.
    entrypoint
        What is run; without, whoever starts it names a command, which is found.
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
                "config": {
                    "Env": [f"PATH=/{FOLDER}"],
                    "Entrypoint": list(entrypoint) or None,
                },
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
