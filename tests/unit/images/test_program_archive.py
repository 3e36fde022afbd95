"""An image of one program, made without any engine."""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path

from stowage_testbed.images.program_archive import write_program_archive


def a_program(folder: Path, content: bytes = b"\x7fELF program") -> Path:
    file = folder / "etcd"
    file.write_bytes(content)
    return file


def test_the_same_program_gives_the_same_image(tmp_path: Path) -> None:
    """Else every cluster would load it anew."""
    program = a_program(tmp_path)
    for name in ("one", "two"):
        write_program_archive(tmp_path / name, "stowage/etcd:v1", program, ["/e"])
        program.touch()

    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_it_holds_the_program_and_what_engines_check(tmp_path: Path) -> None:
    """An engine refuses a layer whose digest is not the one that was announced."""
    program = a_program(tmp_path)
    write_program_archive(tmp_path / "image", "stowage/etcd:v1", program, ["/e"])

    with tarfile.open(tmp_path / "image") as archive:
        (entry,) = json.loads(archive.extractfile("manifest.json").read())  # type: ignore[union-attr]
        config = archive.extractfile(entry["Config"]).read()  # type: ignore[union-attr]
        layer = archive.extractfile(entry["Layers"][0]).read()  # type: ignore[union-attr]
    (tmp_path / "layer").write_bytes(layer)
    with tarfile.open(tmp_path / "layer") as files:
        (member,) = files.getmembers()

    described = json.loads(config)
    assert entry["RepoTags"] == ["stowage/etcd:v1"]
    assert entry["Config"] == f"{hashlib.sha256(config).hexdigest()}.json"
    digest = hashlib.sha256(layer).hexdigest()
    assert described["rootfs"]["diff_ids"] == [f"sha256:{digest}"]
    assert described["config"]["Entrypoint"] == ["/e"]
    assert (member.name, member.mode, member.uid) == ("usr/local/bin/etcd", 0o755, 0)
