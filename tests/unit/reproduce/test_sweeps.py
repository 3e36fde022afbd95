"""A sweep: what is asked for, done once and never lost."""

from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from sweep_tasks import HERE
from typer.testing import CliRunner

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.cli import app
from stowage_testbed.cli.reproduce import numbers, words
from stowage_testbed.reproduce import sweep
from stowage_testbed.reproduce.rebuilding import choose_cells
from stowage_testbed.reproduce.sweep import (
    HEADER,
    Header,
    SweepListener,
    Task,
    Tools,
    execute,
    open_sweep,
    program,
    read_header,
)
from stowage_testbed.scenario.instances import grid


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--cells", "n5-*"], "no cell of the grid is called so"),
        (["--limits", "0"], "different numbers of more than 0"),
        (["--limits", "1,x"], "different numbers of more than 0"),
        (["--limits", "1,1"], "different numbers of more than 0"),
        (["--limits", "nan"], "different numbers of more than 0"),
        (["--strategies", "paper,,z3"], "different names"),
    ],
)
def test_a_wrong_option_is_named_and_ends_with_two(options: list[str], said: str, tmp_path: Path) -> None:
    """A sweep of hours over the wrong cells costs more than a message."""
    answer = CliRunner().invoke(app, ["reproduce", "paper", *options, "--results", str(tmp_path / "r")])

    assert answer.exit_code == 2
    assert said in answer.output
    assert not (tmp_path / "r").exists()


def test_lists_may_have_blanks_and_cells_keep_the_order_of_the_grid() -> None:
    """People write them so; without a pattern all 96 are meant."""
    names = choose_cells(["n8-p4-k1-*", "n4-p4-k1-u95"], grid())

    assert words("paper, z3", "--strategies") == ("paper", "z3")
    assert numbers("1, 10,20", "--limits") == (1.0, 10.0, 20.0)
    with pytest.raises(InputError):
        numbers("", "--limits")
    assert len(choose_cells((), grid())) == 96
    assert (names[0], len(names)) == ("n4-p4-k1-u95", 5)


@dataclass(frozen=True, slots=True)
class Row:
    name: str


DONE: list[str] = []


def named(name: str, *, fails: bool = False) -> Task[Row]:
    """Return a task that says its name, or that it cannot."""

    def say(tools: Tools) -> tuple[Row, ...]:
        DONE.append(name)
        if fails:
            raise StowageError("no node answers")
        return (Row(name),)

    return Task(name, say)


class Counting(SweepListener):
    def __init__(self) -> None:
        self.seen: list[object] = []

    def begun(self, what: str, total: int, done: int, workers: int) -> None:
        self.seen.append((total, done))

    def over(self, task_id: str, failure: str) -> None:
        self.seen.append((task_id, failure))

    def ended(self) -> None:
        self.seen.append("ended")


@pytest.fixture
def journal(tmp_path: Path) -> TaskJournal[Row]:
    """Return a journal in which the first task is done."""
    DONE.clear()
    journal = TaskJournal(tmp_path / "rows.jsonl", Row)
    journal.add("first", (Row("a"),))
    return journal


def test_a_journal_knows_what_was_done(journal: TaskJournal[Row], tmp_path: Path) -> None:
    """Also a task without rows; a line that is no outcome is never left out."""
    path = tmp_path / "rows.jsonl"
    journal.add("second", ())

    again = TaskJournal(path, Row)

    assert list(again) == ["first", "second"]
    assert (again.get("first"), again.get("second")) == ((Row("a"),), ())
    assert "third" not in again
    with path.open("a") as file:
        file.write('{"task": "third", "rows": [{"name": 1}]}\n')
    with pytest.raises(StowageError, match=r"rows\.jsonl:3"):
        TaskJournal(path, Row)


def test_only_what_is_missing_is_carried_out(journal: TaskJournal[Row]) -> None:
    """A sweep goes on where it stopped, and shows nothing where nothing is left.

    The reason of a failure must not be lost, nor its result be missing for ever.
    """
    tasks = [named("first"), named("a", fails=True), named("b")]
    seen: list[list[object]] = []
    for some in (tasks, tasks, tasks[::2]):
        listener = Counting()
        failures = execute("names", some, journal, HERE, listener)
        assert failures == ({"a": "no node answers"} if tasks[1] in some else {})
        seen.append(listener.seen)

    assert DONE == ["a", "b", "a"]
    assert journal.get("b") == (Row("b"),)
    failed = ("a", "no node answers")
    assert seen == [
        [(3, 1), failed, ("b", ""), "ended"], [(3, 2), failed, "ended"], [],
    ]  # fmt: skip


def test_rows_of_two_programs_are_not_mixed(journal: TaskJournal[Row], monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker on another machine may have another version of Stowage."""
    here = iter([{"recipe": "1"}, {"recipe": "2"}])
    monkeypatch.setattr(sweep, "program", lambda: next(here))

    failures = execute("names", [named("b")], journal, HERE, SweepListener())

    assert "recipe 2 here, 1 there" in failures["b"]
    assert DONE == []


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (Header("paper", {"recipe": "0"}, {}, ("there",)), "recipe 2 here, 0 there"),
        (Header("thesis", program(), {}, ("there",)), "reproduces thesis, not paper"),
    ],
)
def test_a_folder_goes_on_with_its_own_sweep_alone(tmp_path: Path, before: Header, said: str) -> None:
    """Rows of two programs that look like one sweep are a lie."""
    (tmp_path / HEADER).write_bytes(msgspec.json.encode(before))

    with pytest.raises(StowageError, match=said), open_sweep(tmp_path, "paper", {}):
        pass


def test_a_folder_has_one_sweep_or_is_said_to_have_none(tmp_path: Path) -> None:
    """The lines of two would mix; and a wrong path is the usual mistake."""
    with pytest.raises(StowageError, match="holds no results"):
        read_header(tmp_path)
    with (
        open_sweep(tmp_path, "paper", {}),
        pytest.raises(StowageError, match="another sweep"),
        open_sweep(tmp_path, "paper", {}),
    ):
        pass
    assert read_header(tmp_path).kind == "paper"
