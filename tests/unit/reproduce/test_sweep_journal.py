"""A sweep of days survives whatever ends it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from stowage_testbed.errors import StowageError
from stowage_testbed.reproduce.sweep.folder import Journal


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    values: tuple[int, ...]


ROW = Row("a", (1, -1))


def test_what_was_written_is_there_again(tmp_path: Path) -> None:
    """Also a task without rows: it is done."""
    journal = Journal(tmp_path / "rows.jsonl", Row)
    journal.add("first", (ROW,))
    journal.add("second", ())

    again = Journal(tmp_path / "rows.jsonl", Row)

    assert list(again) == ["first", "second"]
    assert again["first"] == (ROW,)
    assert again["second"] == ()
    assert "third" not in again


def test_a_half_written_last_line_is_done_again(tmp_path: Path) -> None:
    """It is what a kill amid a write leaves, and the next line must not join it."""
    path = tmp_path / "rows.jsonl"
    Journal(path, Row).add("first", (ROW,))
    with path.open("a") as file:
        file.write('{"task":"sec')

    journal = Journal(path, Row)
    assert list(journal) == ["first"]
    journal.add("second", (ROW,))

    assert list(Journal(path, Row)) == ["first", "second"]


def test_a_journal_that_is_one_half_line_is_empty(tmp_path: Path) -> None:
    """The very first write may be the one that is cut."""
    path = tmp_path / "rows.jsonl"
    path.write_text('{"task"')
    journal = Journal(path, Row)
    journal.add("first", (ROW,))
    assert list(Journal(path, Row)) == ["first"]


@pytest.mark.parametrize(
    "line", ["nonsense", "{}", '{"task": "x", "rows": [{"name": 1, "values": []}]}']
)
def test_a_broken_line_is_named(tmp_path: Path, line: str) -> None:
    """Leaving it out in silence would change the figures."""
    path = tmp_path / "rows.jsonl"
    Journal(path, Row).add("first", (ROW,))
    with path.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(StowageError, match=r"rows\.jsonl:2"):
        Journal(path, Row)
