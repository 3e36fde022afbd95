"""Traces as files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft202012Validator

from stowage_testbed.base.errors import InputError
from stowage_testbed.trace.format import (
    KINDS,
    Header,
    Line,
    Node,
    NodeGone,
    NodeSeen,
    ObjectGone,
    ObjectSeen,
    Owner,
    PodBound,
    PodCame,
    PodEnded,
    PodTemplate,
    Scaled,
    Template,
    WatchLost,
    make_schema,
)
from stowage_testbed.trace.reading import TraceReader, read_trace
from stowage_testbed.trace.writing import TraceWriter

HEADER = Header(1, "2026-11-26T15:00:00Z", "1.37.2", {"shop": {"team": "a"}})
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
LINES: tuple[Line, ...] = (
    NodeSeen(t=0, name="n", node=Node({"cpu": "4"}, {"cpu": "3"}, {"zone": "a"})),
    ObjectSeen(t=0, object=DEPLOYMENT),
    Template(t=0, id="12345678", template=PodTemplate({"app": "d"})),
    PodCame(
        t=0, namespace="shop", name="p", of="12345678", owner=Owner("Deployment", "d")
    ),
    PodBound(t=0.25, namespace="shop", name="p", node="n"),
    Scaled(t=1, kind="Deployment", namespace="shop", name="d", replicas=0),
    WatchLost(from_=1.5, t=2, why="the connection broke"),
    PodEnded(t=2.125, namespace="shop", name="p", how="deleted", ran_s=1.875),
    ObjectGone(t=3, kind="Deployment", namespace="shop", name="d"),
    NodeGone(t=4, name="n"),
)


def write(path: Path) -> Path:
    with TraceWriter(path, HEADER) as writer:
        for line in LINES:
            writer.write(line)
    return path


def write_text(path: Path, *lines: str) -> Path:
    header = msgspec.json.encode(HEADER).decode()
    path.write_text("\n".join((header, *lines, "")), "utf-8")
    return path


@pytest.mark.parametrize("name", ["x.jsonl.gz", "x.jsonl"])
def test_what_is_written_is_read(tmp_path: Path, name: str) -> None:
    """A line of every kind, packed or not."""
    trace = read_trace(write(tmp_path / name))

    assert {type(line) for line in LINES} == set(KINDS.values())
    assert (trace.header, trace.lines, trace.remark) == (HEADER, LINES, "")


def test_equal_traces_are_equal_files(tmp_path: Path) -> None:
    """No time of writing and no name stands in them."""
    first, second = write(tmp_path / "a.jsonl.gz"), write(tmp_path / "b.jsonl.gz")

    assert first.read_bytes() == second.read_bytes()


def test_times_are_in_milliseconds_and_never_go_back(tmp_path: Path) -> None:
    """Who reads needs no sorting, and digits cost room."""
    path = tmp_path / "x.jsonl"
    with TraceWriter(path, HEADER) as writer:
        for t in (0.12345, 0.1, 0.2):
            writer.write(NodeGone(t=t, name="n"))

    assert [line.t for line in read_trace(path).lines] == [0.123, 0.123, 0.2]


def test_what_was_flushed_is_there_when_the_writer_is_killed(tmp_path: Path) -> None:
    """A recorder that is killed loses what came since, and the reader says so."""
    path, kept = tmp_path / "x.jsonl.gz", tmp_path / "killed.jsonl.gz"
    with TraceWriter(path, HEADER) as writer:
        for line in LINES[:6]:
            writer.write(line)
        writer.flush()
        kept.write_bytes(path.read_bytes())
    trace = read_trace(kept)

    assert trace.lines == LINES[:6]
    assert "cut off" in trace.remark


@pytest.mark.parametrize("left", [0.95, 0.8, 0.6])
def test_a_file_cut_off_anywhere_is_read_up_to_its_last_whole_line(
    tmp_path: Path, left: float
) -> None:
    """A full disk cuts in the middle of a line."""
    content = write(tmp_path / "x.jsonl").read_bytes()
    path = tmp_path / "cut.jsonl"
    path.write_bytes(content[: int(len(content) * left)])
    trace = read_trace(path)

    assert trace.lines == LINES[: len(trace.lines)]
    assert 0 < len(trace.lines) < len(LINES)
    assert "cut off" in trace.remark


def test_damage_ends_a_trace_with_a_remark(tmp_path: Path) -> None:
    """What stands before it is good."""
    path = tmp_path / "x.jsonl.gz"
    with TraceWriter(path, HEADER) as writer:
        writer.write(LINES[0])
        writer.flush()
        good = path.stat().st_size
        writer.write(LINES[1])
    content = path.read_bytes()
    path.write_bytes(content[:good] + b"\xff" * 40)
    trace = read_trace(path)

    assert trace.lines == LINES[:1]
    assert "damaged" in trace.remark


def test_every_broken_line_is_named_with_its_number(tmp_path: Path) -> None:
    """All at once, with what is wrong in each."""
    path = write_text(
        tmp_path / "x.jsonl",
        "{",
        '{"t": 1, "do": "jump"}',
        '{"t": 1, "do": "node-gone"}',
        '{"t": 1, "do": "pod", "namespace": "", "name": "p", "of": "x"}',
        '{"t": 0.5, "do": "node-gone", "name": "n"}',
        '{"t": 2, "do": "end", "namespace": "", "name": "p", "how": "bored"}',
        '{"t": 2, "do": "node-gone", "name": "n", "nme": "n"}',
    )
    with pytest.raises(InputError) as caught:
        read_trace(path)
    said = str(caught.value).splitlines()[1:]

    assert [int(one.split(":")[1]) for one in said] == [2, 3, 4, 5, 6, 7, 8]
    for number, word in enumerate(
        ("no JSON", "'jump'", "`name`", "'x'", "0.5", "bored", "`nme`")
    ):
        assert word in said[number]


def test_good_lines_come_although_others_are_broken(tmp_path: Path) -> None:
    """A stream goes on, and its reader judges at the end."""
    reader = TraceReader(
        write_text(tmp_path / "x.jsonl", "{", '{"t":1,"do":"node-gone","name":"n"}')
    )

    assert list(reader) == [NodeGone(t=1, name="n")]
    assert [one.line for one in reader.issues] == [2]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.jsonl", "", "no header"),
        ("x.jsonl", '{"t": 0}\n', "no header"),
        (
            "x.jsonl",
            '{"stowage_trace": 2, "began": "", "kubernetes": ""}\n',
            "version 2",
        ),
        ("x.csv", "", "ends in"),
        ("x.jsonl.gz", "plain text", "no header"),
    ],
)
def test_what_is_no_trace_is_refused(
    tmp_path: Path, name: str, content: str, said: str
) -> None:
    """With what it is instead."""
    path = tmp_path / name
    path.write_text(content, "utf-8")
    with pytest.raises(InputError, match=said):
        TraceReader(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The cause is the system's own."""
    with pytest.raises(InputError, match="No such file"):
        TraceReader(tmp_path / "x.jsonl")


def test_the_schema_accepts_every_line_and_no_other(tmp_path: Path) -> None:
    """Who writes traces with another program checks them with it."""
    validator = Draft202012Validator(make_schema())
    plain = write(tmp_path / "x.jsonl").read_text("utf-8").splitlines()

    for one in plain:
        validator.validate(json.loads(one))
    assert list(validator.iter_errors({"t": 1, "do": "node-gone"}))


def test_packed_text_can_be_read_with_common_tools(tmp_path: Path) -> None:
    """As in `zcat x.jsonl.gz | jq`."""
    path = write(tmp_path / "x.jsonl.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]

    assert lines[0]["stowage_trace"] == 1
    assert [line["t"] for line in lines[1:]] == [line.t for line in LINES]
