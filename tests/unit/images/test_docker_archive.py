"""An image of one program, made without any engine; two compared file by file."""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path

from stowage_testbed.images.docker_archive import (
    differing_files,
    open_member,
    write_program_archive,
)


def a_program(folder: Path, content: bytes = b"\x7fELF program") -> Path:
    file = folder / "etcd"
    file.write_bytes(content)
    return file


def an_image(folder: Path, name: str, content: bytes) -> Path:
    write_program_archive(folder / name, "x:1", a_program(folder, content))
    return folder / name


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
        config = open_member(archive, entry["Config"]).read()
        layer = open_member(archive, entry["Layers"][0]).read()
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


def test_equal_builds_have_no_differences(tmp_path: Path) -> None:
    """Then their digests are equal too."""
    one, two = (an_image(tmp_path, name, b"same") for name in ("one", "two"))

    assert differing_files(one, two) == []


def test_the_files_that_differ_are_named(tmp_path: Path) -> None:
    """Only a digest would leave the reader with half a gigabyte to look through."""
    one = an_image(tmp_path, "one", b"yesterday")
    two = an_image(tmp_path, "two", b"today")

    assert differing_files(one, two) == ["usr/local/bin/etcd"]
