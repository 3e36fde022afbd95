"""Two builds of an image are compared file by file."""

from __future__ import annotations

from pathlib import Path

from stowage_testbed.images.manifest import differing_files
from stowage_testbed.images.program_archive import write_program_archive


def an_image(folder: Path, name: str, content: bytes) -> Path:
    program = folder / name
    program.write_bytes(content)
    write_program_archive(
        folder / f"{name}.tar", "x:1", program.rename(folder / "etcd")
    )
    return folder / f"{name}.tar"


def test_equal_builds_have_no_differences(tmp_path: Path) -> None:
    """Then their digests are equal too."""
    one, two = (an_image(tmp_path, name, b"same") for name in ("one", "two"))

    assert differing_files(one, two) == []


def test_the_files_that_differ_are_named(tmp_path: Path) -> None:
    """Only a digest would leave the reader with half a gigabyte to look through."""
    one = an_image(tmp_path, "one", b"yesterday")
    two = an_image(tmp_path, "two", b"today")

    assert differing_files(one, two) == ["usr/local/bin/etcd"]
