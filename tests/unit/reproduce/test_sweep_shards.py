"""Parts of a sweep: each task is in exactly one, and a whole needs all of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.reproduce.sweep.folder import Header, SweepFolder
from stowage_testbed.reproduce.sweep.merge import merge
from stowage_testbed.reproduce.sweep.shard import Shard

HEADER = Header("paper", {"recipe": "1"}, {"sample": 2}, ("1/2",), ("here",))


@given(items=st.lists(st.integers(), unique=True), count=st.integers(1, 9))
def test_every_task_is_in_exactly_one_shard(items: list[int], count: int) -> None:
    """What is in none would be missing, what is in two would be done twice."""
    parts = [Shard(number, count).of(items) for number in range(1, count + 1)]
    assert sorted(one for part in parts for one in part) == sorted(items)


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "a/b", "1/2/3", "-1/2", "1/0"])
def test_what_is_no_shard_is_refused_with_an_example(text: str) -> None:
    """A shard that is silently the whole would cost a day."""
    with pytest.raises(InputError, match="2/8"):
        Shard.parse(text)


def a_part(folder: Path, header: Header, *lines: str) -> Path:
    folder.mkdir()
    SweepFolder(folder).write_header(header)
    (folder / "rows.jsonl").write_text("".join(lines))
    return folder


def test_all_shards_make_the_whole(tmp_path: Path) -> None:
    """Rows of all, machines of all, and a half-written line of none."""
    first = a_part(tmp_path / "a", HEADER, '{"task":"1"}\n', '{"task":"3"')
    other = replace(HEADER, shards=("2/2",), machines=("there",))
    second = a_part(tmp_path / "b", other, '{"task":"2"}\n')

    header = merge([first, second], tmp_path / "all")

    assert header.shards == ("1/1",)
    assert header.machines == ("here", "there")
    rows = (tmp_path / "all" / "rows.jsonl").read_text()
    assert rows == '{"task":"1"}\n{"task":"2"}\n'
    assert SweepFolder(tmp_path / "all").header() == header


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    """A report on two thirds that looks like one on the whole is a lie."""
    parts = [
        a_part(tmp_path / "1", replace(HEADER, shards=("1/3",))),
        a_part(tmp_path / "3", replace(HEADER, shards=("3/3",))),
    ]
    with pytest.raises(StowageError, match="missing: 2/3"):
        merge(parts, tmp_path / "all")


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (replace(HEADER, program={"recipe": "2"}), "recipe 1 here, 2 there"),
        (replace(HEADER, scope={"sample": 3}), "asked for something else"),
        (replace(HEADER, kind="thesis"), "asked for something else"),
    ],
)
def test_shards_of_different_sweeps_are_refused(
    tmp_path: Path, other: Header, said: str
) -> None:
    """Rows of two programs in one table mean nothing."""
    parts = [
        a_part(tmp_path / "1", HEADER),
        a_part(tmp_path / "2", replace(other, shards=("2/2",))),
    ]
    with pytest.raises(StowageError, match=said):
        merge(parts, tmp_path / "all")


def test_nothing_is_merged_into_results_that_are_there(tmp_path: Path) -> None:
    """They would be there twice."""
    part = a_part(tmp_path / "1", replace(HEADER, shards=("1/1",)))
    target = a_part(tmp_path / "all", HEADER, '{"task":"1"}\n')
    with pytest.raises(StowageError, match="results in it already"):
        merge([part], target)


def test_a_folder_without_a_sweep_is_said_to_be_one(tmp_path: Path) -> None:
    """The usual mistake is a wrong path."""
    with pytest.raises(StowageError, match="holds no results"):
        merge([tmp_path], tmp_path / "all")


def test_two_sweeps_do_not_write_to_one_folder(tmp_path: Path) -> None:
    """Their lines would mix."""
    with (
        SweepFolder(tmp_path).alone(),
        pytest.raises(StowageError, match="another sweep"),
        SweepFolder(tmp_path).alone(),
    ):
        pass
