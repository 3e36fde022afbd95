"""The page about the format."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from stowage_testbed.scenario.arrivals.trace_row import FIELDS
from stowage_testbed.trace.format import KINDS, Header, Node, Owner, PodTemplate

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "trace-format.md"
RECORDED, _, BY_HAND = PAGE.read_text("utf-8").partition("## Rows written by hand")
_ROW = re.compile(r"^\| `([-\w]+)` \| (.*) \|$", re.M)
ROWS = dict(_ROW.findall(RECORDED))


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_every_line_is_explained(kind: str) -> None:
    """Who writes a trace with another program reads the page."""
    fields = {one.encode_name for one in msgspec.structs.fields(KINDS[kind])}

    assert {one for one in fields - {"t"} if f"`{one}`" not in ROWS[kind]} == set()


@pytest.mark.parametrize(
    ("row", "inner"), [("template", PodTemplate), ("node", Node), ("pod", Owner)]
)
def test_what_a_field_holds_is_explained(row: str, inner: type) -> None:
    """In the row of its line."""
    fields = [one.name for one in msgspec.structs.fields(inner)]

    assert [one for one in fields if f"`{one}`" not in ROWS[row]] == []


def test_the_header_is_explained() -> None:
    """It is the one line of its own kind."""
    fields = {one.name for one in msgspec.structs.fields(Header)}

    assert fields <= set(ROWS)


def test_every_field_of_a_row_written_by_hand_is_explained() -> None:
    """Nothing else tells of them but messages about mistakes."""
    assert set(dict(_ROW.findall(BY_HAND))) == set(FIELDS)
