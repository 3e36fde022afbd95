"""Traces as files, their size, and the page about their format."""

import gzip
import json
import re
from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft202012Validator
from trace_lines import HEADER, bound, ended, gone, node

from stowage_testbed.base.errors import InputError
from stowage_testbed.observe.node import Node
from stowage_testbed.trace import format as trace
from stowage_testbed.trace.reading import read_trace, scan_trace
from stowage_testbed.trace.record import TraceWriter

DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
OWNER = trace.Owner("Deployment", "d")
LINES: tuple[trace.Line, ...] = (
    node(0),
    trace.ObjectSeen(t=0, object=DEPLOYMENT),
    trace.Template(t=0, id="12345678", template=trace.PodTemplate({"app": "d"})),
    trace.PodCame(t=0, namespace="ns", name="p", of="12345678", owner=OWNER),
    bound(0.25),
    trace.Scaled(t=1, kind="Deployment", namespace="ns", name="d", replicas=0),
    trace.WatchLost(from_=1.5, t=2, why="the connection broke"),
    ended(2.125, "deleted", 1.875),
    gone(3, "Deployment"),
    trace.NodeGone(t=4, name="n"),
)
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "trace-format.md"
ROWS = dict(re.findall(r"^\| `([-\w]+)` \| (.*) \|$", PAGE.read_text("utf-8"), re.M))


def write(path: Path, *lines: trace.Line) -> Path:
    with TraceWriter(path, HEADER) as writer:
        for line in lines or LINES:
            writer.write(line)
    return path


def write_text(path: Path, *lines: str) -> Path:
    header = msgspec.json.encode(HEADER).decode()
    path.write_text("\n".join((header, *lines, "")), "utf-8")
    return path


@pytest.mark.parametrize("name", ["x.jsonl.gz", "x.jsonl"])
def test_what_is_written_is_read(tmp_path: Path, name: str) -> None:
    """A line of every kind, packed or not, and without a time of writing."""
    path, again = write(tmp_path / name), write(tmp_path / f"again-{name}")
    read = read_trace(path)

    assert {type(line) for line in LINES} == set(trace.KINDS.values())
    assert (read.header, read.lines, read.remark) == (HEADER, LINES, "")
    assert path.read_bytes() == again.read_bytes()


def test_times_are_in_milliseconds_and_never_go_back(tmp_path: Path) -> None:
    """Who reads needs no sorting, and digits cost room."""
    lines = [trace.NodeGone(t=t, name="n") for t in (0.12345, 0.1, 0.2)]
    read = read_trace(write(tmp_path / "x.jsonl", *lines))

    assert [line.t for line in read.lines] == [0.123, 0.123, 0.2]


@pytest.mark.parametrize(
    ("name", "left", "tail", "remark"),
    [
        # A recorder that is killed loses what came since it was flushed.
        ("x.jsonl.gz", 1.0, b"", "cut off"),
        ("x.jsonl.gz", 1.0, b"\xff" * 40, "damaged"),
        # A full disk cuts in the middle of a line.
        ("x.jsonl", 0.95, b"", "cut off"),
        ("x.jsonl", 0.6, b"", "cut off"),
    ],
)
def test_a_file_that_ends_early_is_read_up_to_its_last_whole_line(
    tmp_path: Path, name: str, left: float, tail: bytes, remark: str
) -> None:
    """The reader says what is the matter with it."""
    path, kept = tmp_path / name, tmp_path / f"kept-{name}"
    with TraceWriter(path, HEADER) as writer:
        for line in LINES[:6]:
            writer.write(line)
        writer.flush()
        whole = path.read_bytes()
        kept.write_bytes(whole[: int(len(whole) * left)] + tail)
    read = read_trace(kept)

    assert read.lines == LINES[: len(read.lines)]
    assert len(read.lines) == 6 if left == 1 else 0 < len(read.lines) < 6
    assert remark in read.remark


BROKEN = {
    "{": "no JSON",
    '{"t": 1, "do": "jump"}': "'jump'",
    '{"t": 1, "do": "node-gone"}': "`name`",
    '{"t": 1, "do": "pod", "namespace": "", "name": "p", "of": "x"}': "'x'",
    '{"t": 0.5, "do": "node-gone", "name": "n"}': "0.5",
    '{"t": 2, "do": "end", "namespace": "", "name": "p", "how": "bored"}': "bored",
    '{"t": 2, "do": "node-gone", "name": "n", "nme": "n"}': "`nme`",
}


def test_every_broken_line_is_named_with_its_number(tmp_path: Path) -> None:
    """All at once, with what is wrong in each, and good ones come all the same."""
    good = '{"t": 3, "do": "node-gone", "name": "n"}'
    path = write_text(tmp_path / "x.jsonl", *BROKEN, good)
    with pytest.raises(InputError) as caught:
        read_trace(path)
    said = str(caught.value).splitlines()[1:]
    read, issues = scan_trace(path)

    assert [int(one.split(":")[1]) for one in said] == [2, 3, 4, 5, 6, 7, 8]
    assert all(word in one for one, word in zip(said, BROKEN.values(), strict=True))
    assert read.lines[-1] == trace.NodeGone(t=3, name="n")
    assert [line for line, _ in issues] == [2, 3, 4, 5, 6, 7, 8]


OF_VERSION_2 = '{"stowage_trace": 2, "began": "", "kubernetes": ""}\n'


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.jsonl", "", "no header"),
        ("x.jsonl", '{"t": 0}\n', "no header"),
        ("x.jsonl", OF_VERSION_2, "version 2"),
        ("x.csv", "", "ends in"),
        ("x.jsonl.gz", "plain text", "no header"),
        ("x.jsonl", None, "No such file"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, name: str, content: str | None, said: str) -> None:
    """With what it is instead."""
    if content is not None:
        (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(InputError, match=said):
        scan_trace(tmp_path / name)


def test_the_schema_accepts_every_line_and_no_other(tmp_path: Path) -> None:
    """Who writes traces with another program checks them with it, as `zcat` shows."""
    validator = Draft202012Validator(trace.make_schema())
    with gzip.open(write(tmp_path / "x.jsonl.gz"), "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]

    for one in lines:
        validator.validate(one)
    assert list(validator.iter_errors({"t": 1, "do": "node-gone"}))
    assert lines[0]["stowage_trace"] == 1
    assert [one["t"] for one in lines[1:]] == [line.t for line in LINES]


def test_the_page_explains_every_field() -> None:
    """Who writes a trace with another program reads it."""
    inner: dict[str, type[msgspec.Struct]] = {
        "template": trace.PodTemplate, "node": Node, "pod": trace.Owner, "bound": trace.PodDevice,
    }  # fmt: skip
    missing = [
        (row, field.encode_name)
        for kinds in (trace.KINDS, inner)
        for row, kind in kinds.items()
        for field in msgspec.structs.fields(kind)
        if field.encode_name != "t" and f"`{field.encode_name}`" not in ROWS[row]
    ]

    assert missing == []
    assert {one.name for one in msgspec.structs.fields(trace.Header)} <= ROWS.keys()
