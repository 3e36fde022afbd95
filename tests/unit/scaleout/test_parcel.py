"""What a worker found comes back whole, or says what of it is missing."""

from __future__ import annotations

from pathlib import Path

from stowage_testbed.scaleout.parcel import LEFT_OUT, packed, unpack

NOTE = Path("paper-figure-1")


def written(folder: Path, **files: int) -> None:
    for name, size in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)


def test_files_arrive_where_they_were(tmp_path: Path) -> None:
    """A bundle made elsewhere has the layout of one made here."""
    there, here = tmp_path / "there", tmp_path / "here"
    written(there, run=1, failed__a__log=2, a__events=3)

    names = unpack(packed(there, NOTE, without=["run"]), here)

    assert sorted(map(str, names)) == ["a/events", "failed/a/log"]
    assert (here / "failed/a/log").read_bytes() == b"xx"
    assert not (here / "run").exists()
    assert not (here / NOTE).exists()


def test_a_parcel_is_bounded_and_names_what_it_lacks(tmp_path: Path) -> None:
    """Evidence goes before records of success, and small files before large ones."""
    there, here = tmp_path / "there", tmp_path / "here"
    written(there, failed__a__log=60, failed__a__audit=900, a__events=30, a__big=80)

    unpack(packed(there, NOTE, most_bytes=100), here)

    assert (here / "failed/a/log").stat().st_size == 60
    assert (here / "a/events").is_file()
    assert not (here / "failed/a/audit").exists()
    said = (here / NOTE / LEFT_OUT).read_text()
    assert "failed/a/audit: 900 bytes" in said
    assert "a/big: 80 bytes" in said
