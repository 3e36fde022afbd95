"""A sweep: what is asked for, done once, divided into shards, and put together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.cli import app
from stowage_testbed.cli.reproducing import numbers, words
from stowage_testbed.instances.cell import grid
from stowage_testbed.reproduce.instance.request import choose_cells
from stowage_testbed.reproduce.sweep.engine import InProcess, SweepListener, execute
from stowage_testbed.reproduce.sweep.folder import Header, SweepFolder
from stowage_testbed.reproduce.sweep.merge import merge
from stowage_testbed.reproduce.sweep.shard import Shard
from stowage_testbed.reproduce.sweep.task import Tools


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--cells", "n5-*"], "no cell of the grid is called so"),
        (["--limits", "0"], "different numbers of more than 0"),
        (["--limits", "1,x"], "different numbers of more than 0"),
        (["--limits", "1,1"], "different numbers of more than 0"),
        (["--limits", "nan"], "different numbers of more than 0"),
        (["--strategies", "paper,,z3"], "different names"),
        (["--shard", "9/8"], "must be i/n"),
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
    names = [cell.name for cell in choose_cells(["n8-p4-k1-*", "n4-p4-k1-u95"], grid())]

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
    tasks = [Named("first"), Named("a", fails=True), Named("b")]
    seen: list[list[object]] = []
    for some in (tasks, tasks, tasks[::2]):
        listener = Counting()
        failures = execute("names", some, journal, InProcess(), listener)
        assert failures == ({"a": "no node answers"} if tasks[1] in some else {})
        seen.append(listener.seen)

    assert DONE == ["a", "b", "a"]
    assert journal.get("b") == (Row("b"),)
    failed = ("a", "no node answers")
    assert seen == [
        [(3, 1), failed, ("b", ""), "ended"], [(3, 2), failed, "ended"], [],
    ]  # fmt: skip


@given(items=st.lists(st.integers(), unique=True), count=st.integers(1, 9))
def test_every_task_is_in_exactly_one_shard(items: list[int], count: int) -> None:
    """What is in none would be missing, what is in two would be done twice.

    A shard that is silently the whole would cost a day.
    """
    parts = [Shard(number, count).of(items) for number in range(1, count + 1)]

    assert sorted(one for part in parts for one in part) == sorted(items)
    for text in ("", "1", "0/2", "3/2", "a/b", "1/2/3", "-1/2", "1/0"):
        with pytest.raises(InputError, match="2/8"):
            Shard.parse(text)


HEADER = Header("paper", {"recipe": "1"}, {"sample": 2}, ("1/2",), ("here",))
SECOND = replace(HEADER, shards=("2/2",), machines=("there",))


def a_part(folder: Path, header: Header, *lines: str) -> Path:
    folder.mkdir()
    SweepFolder(folder).write_header(header)
    (folder / "rows.jsonl").write_text("".join(lines))
    return folder


def test_all_shards_make_the_whole(tmp_path: Path) -> None:
    """Rows of all, machines of all, and a half-written line of none."""
    first = a_part(tmp_path / "a", HEADER, '{"task":"1"}\n', '{"task":"3"')
    second = a_part(tmp_path / "b", SECOND, '{"task":"2"}\n')

    header = merge([first, second], tmp_path / "all")

    assert (header.shards, header.machines) == (("1/1",), ("here", "there"))
    rows = (tmp_path / "all" / "rows.jsonl").read_text()
    assert rows == '{"task":"1"}\n{"task":"2"}\n'
    assert SweepFolder(tmp_path / "all").header() == header
    # Nothing is merged into results that are there.
    with pytest.raises(StowageError, match="results in it already"):
        merge([first, second], tmp_path / "all")


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (replace(HEADER, shards=("2/3",)), "missing: 3/3"),
        (replace(SECOND, program={"recipe": "2"}), "recipe 1 here, 2 there"),
        (replace(SECOND, scope={"sample": 3}), "asked for something else"),
        (replace(SECOND, kind="thesis"), "asked for something else"),
    ],
)
def test_what_is_no_whole_sweep_is_not_put_together(tmp_path: Path, other: Header, said: str) -> None:
    """Two thirds that look like the whole are a lie; so are rows of two programs."""
    first = replace(HEADER, shards=("1/3",)) if "missing" in said else HEADER
    parts = [a_part(tmp_path / "1", first), a_part(tmp_path / "2", other)]

    with pytest.raises(StowageError, match=said):
        merge(parts, tmp_path / "all")


def test_a_folder_has_one_sweep_or_is_said_to_have_none(tmp_path: Path) -> None:
    """The lines of two would mix; and a wrong path is the usual mistake."""
    with pytest.raises(StowageError, match="holds no results"):
        merge([tmp_path], tmp_path / "all")
    with (
        SweepFolder(tmp_path).alone(),
        pytest.raises(StowageError, match="another sweep"),
        SweepFolder(tmp_path).alone(),
    ):
        pass
