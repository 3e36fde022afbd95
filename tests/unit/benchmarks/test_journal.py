"""The journal that every long measurement keeps."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.engine import Rounds
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.journal import Journal


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    values: tuple[int, ...] = ()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the file of a journal of one row."""
    path = tmp_path / "rows.jsonl"
    Journal(path, Row).add(Row("first"))
    return path


@pytest.mark.parametrize("rest", ["", "{", '{"name":"', "x" * 10_000])
def test_a_line_that_was_cut_off_spoils_no_other(path: Path, rest: str) -> None:
    """The next record was glued to it, and neither could be read then."""
    with path.open("a") as file:
        file.write(rest)
    journal = Journal(path, Row)

    assert journal.records() == [Row("first")]
    journal.add(Row("second", (1, 2)))
    assert journal.records() == [Row("first"), Row("second", (1, 2))]


def test_a_journal_whose_first_line_was_cut_off_begins_anew(path: Path) -> None:
    """The very first write may be the one that is cut."""
    path.write_text('{"name"')
    journal = Journal(path, Row)

    assert journal.records() == []
    journal.add(Row("first"))
    assert journal.records() == [Row("first")]


def test_a_record_is_on_disk_when_it_is_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a machine that loses its power: hours of measuring stand behind it."""
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_size))

    Journal(tmp_path / "rows.jsonl", Row).add(Row("first"))

    assert synced == [(tmp_path / "rows.jsonl").stat().st_size]


def test_several_may_write_to_one_journal(tmp_path: Path) -> None:
    """Suites of faults run side by side; none may take another's line for a rest."""
    path, names = tmp_path / "rows.jsonl", [str(n) for n in range(64)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: Journal(path, Row).add(Row(name)), names))

    assert sorted(row.name for row in Journal(path, Row).records()) == sorted(names)


@pytest.mark.parametrize("line", ["nonsense", "{}", '{"name": 1}'])
def test_another_line_that_is_no_record_is_named(path: Path, line: str) -> None:
    """Leaving it out in silence would change the figures."""
    with path.open("a") as file:
        file.write(f"{line}\n")

    with pytest.raises(StowageError, match=r"rows\.jsonl:2: is no record"):
        Journal(path, Row).records()


def test_rounds_that_are_on_record_are_not_measured_again(path: Path) -> None:
    """A run of hours that was interrupted goes on from there, and has all rows in its figures."""
    file = path.with_name("rounds.jsonl")
    Rounds(file, Row).measured("a", lambda: [Row("first")])
    again = Rounds(file, Row)

    assert again.measured("a", lambda: [Row("another")]) == (Row("first"),)
    assert again.measured("b", lambda: [Row("second")]) == (Row("second"),)
    assert again.rows() == [Row("first"), Row("second")]
