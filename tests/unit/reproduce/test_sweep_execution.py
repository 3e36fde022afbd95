"""What is done is not done again, and one failure does not end the rest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.reproduce.sweep.engine import InProcess, SweepListener, execute
from stowage_testbed.reproduce.sweep.task import Tools

DONE: list[str] = []


@dataclass(frozen=True, slots=True)
class Row:
    name: str


@dataclass(frozen=True, slots=True)
class Named:
    """A task that says its name, or that it cannot."""

    id: str
    fails: bool = False

    def execute(self, tools: Tools) -> tuple[Row, ...]:
        DONE.append(self.id)
        if self.fails:
            raise StowageError("no node answers")
        return (Row(self.id),)


class Counting(SweepListener):
    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self.begun_with = (0, 0)
        self.ends = 0

    def begun(self, what: str, total: int, done: int, workers: int) -> None:
        self.begun_with = (total, done)

    def over(self, task_id: str, failure: str) -> None:
        self.seen.append((task_id, failure))

    def ended(self) -> None:
        self.ends += 1


def test_a_journal_knows_what_was_done(tmp_path: Path) -> None:
    """Also a task without rows; a line that is no outcome is never left out."""
    path = tmp_path / "rows.jsonl"
    journal = TaskJournal(path, Row)
    journal.add("first", (Row("a"),))
    journal.add("second", ())

    again = TaskJournal(path, Row)

    assert list(again) == ["first", "second"]
    assert (again.get("first"), again.get("second")) == ((Row("a"),), ())
    assert "third" not in again
    with path.open("a") as file:
        file.write('{"task": "third", "rows": [{"name": 1}]}\n')
    with pytest.raises(StowageError, match=r"rows\.jsonl:3"):
        TaskJournal(path, Row)


def test_only_what_is_missing_is_carried_out(tmp_path: Path) -> None:
    """A sweep that was interrupted goes on where it stopped."""
    DONE.clear()
    journal = TaskJournal(tmp_path / "rows.jsonl", Row)
    journal.add("a", (Row("a"),))
    listener = Counting()

    failures = execute(
        "names", [Named("a"), Named("b")], journal, InProcess(), listener
    )

    assert failures == {}
    assert DONE == ["b"]
    assert journal.get("b") == (Row("b"),)
    assert (listener.begun_with, listener.ends) == ((2, 1), 1)


def test_a_task_that_fails_is_reported_and_tried_again_next_time(
    tmp_path: Path,
) -> None:
    """Its reason must not be lost, and its result must not be missing for ever."""
    DONE.clear()
    journal = TaskJournal(tmp_path / "rows.jsonl", Row)
    tasks = [Named("a", fails=True), Named("b")]
    listener = Counting()

    for _ in range(2):
        failures = execute("names", tasks, journal, InProcess(), listener)
        assert failures == {"a": "no node answers"}

    assert DONE == ["a", "b", "a"]
    assert ("a", "no node answers") in listener.seen


def test_a_sweep_with_nothing_to_do_is_not_reported(tmp_path: Path) -> None:
    """A bar that appears and is gone says nothing."""
    journal = TaskJournal(tmp_path / "rows.jsonl", Row)
    journal.add("a", ())
    listener = Counting()
    assert execute("names", [Named("a")], journal, InProcess(), listener) == {}
    assert listener.ends == 0
