"""Reading trace files: what was recorded, or rows of CSV or JSON written by hand.

Every issue of a file is found, with its line, before any is reported.
"""

from __future__ import annotations

import csv
import functools
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import yaml

from stowage_testbed.base.errors import InputError
from stowage_testbed.scenario.arrivals.trace import TraceRow, list_pods
from stowage_testbed.scenario.arrivals.trace_row import FIELDS, read_row
from stowage_testbed.scenario.errors import Issue
from stowage_testbed.trace.format import SUFFIXES as RECORDED
from stowage_testbed.trace.reading import Trace, TraceReader

SUFFIXES = (".csv", ".json")
"""Of rows: CSV with a header line, or JSON, a list of mappings."""


@dataclass(frozen=True, slots=True)
class TraceFile:
    """What a trace file holds, and its issues; or why it could not be read.

    Attributes
    ----------
    recorded
        What `stowage record` wrote; ``None`` of rows.
    """

    rows: tuple[TraceRow, ...] = ()
    recorded: Trace | None = None
    issues: tuple[Issue, ...] = ()
    unreadable: str = ""


@dataclass(slots=True)
class _Table:
    """Rows as they stand in a file, each with a place; `line_of` gives its line."""

    path: Path
    rows: list[tuple[int, Mapping[str, object]]] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)
    line_of: Callable[[int], int] = lambda place: place

    def add_issue(self, place: int, message: str, column: int = 1) -> None:
        self.issues.append(Issue(self.path, self.line_of(place), column, message))


def read_trace(path: Path) -> TraceFile:
    """Read a trace; a file with issues yields no rows."""
    if path.name.endswith(RECORDED):
        return _read_recorded(path)
    if path.suffix not in SUFFIXES:
        known = ", ".join((*RECORDED, *SUFFIXES))
        return TraceFile(unreadable=f"it is not one of {known}")
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        return TraceFile(unreadable=str(error.strerror))
    except UnicodeDecodeError:
        return TraceFile(unreadable="it is not UTF-8 text")
    read = _read_csv if path.suffix == ".csv" else _read_json
    return _judge(read(path, text))


def _read_recorded(path: Path) -> TraceFile:
    try:
        reader = TraceReader(path)
        lines = tuple(reader)
    except InputError as error:
        return TraceFile(unreadable=str(error))
    if reader.issues:
        issues = (Issue(path, one.line, 1, one.message) for one in reader.issues)
        return TraceFile(issues=tuple(issues))
    return TraceFile(recorded=Trace(reader.header, lines, reader.remark))


def _judge(table: _Table) -> TraceFile:
    good: list[TraceRow] = []
    places: list[int] = []
    for place, fields in table.rows:
        row, wrong = read_row(fields)
        for message in wrong:
            table.add_issue(place, message)
        if row is not None:
            good.append(row)
            places.append(place)
    _find_namesakes(table, good, places)
    if not good and not table.issues:
        table.add_issue(1, "there are no arrivals; write at least one")
    if table.issues:
        return TraceFile(issues=tuple(table.issues))
    return TraceFile(tuple(good))


def _find_namesakes(table: _Table, rows: list[TraceRow], places: list[int]) -> None:
    """Add an issue for each pod that would have the name of an earlier one."""
    # Rows of one moment keep their order, as they do when they are replayed.
    order = sorted(range(len(rows)), key=lambda index: rows[index].at_s)
    seen: dict[str, int] = {}
    pods = list_pods(rows)
    for index in order:
        for pod in islice(pods, rows[index].replicas):
            first = seen.setdefault(pod.name, places[index])
            if first != places[index]:
                message = f"pod {pod.name!r} came already in line"
                message = f"{message} {table.line_of(first)}; give it another name"
                table.add_issue(places[index], message)


def _read_csv(path: Path, text: str) -> _Table:
    table, header = _Table(path), list[str]()
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        for cells in reader:
            values = [cell.strip() for cell in cells]
            if not any(values) or values[0].startswith("#"):
                continue
            if not header:
                header = values
            elif len(values) != len(header):
                message = f"{len(values)} fields, the header has {len(header)}"
                table.add_issue(reader.line_num, f"{message}; fix one of them")
            else:
                pairs = zip(header, values, strict=True)
                filled = {name: value for name, value in pairs if value}
                table.rows.append((reader.line_num, filled))
    except csv.Error as error:
        message = f"this is not CSV: {error}; look at its quotes"
        table.add_issue(reader.line_num, message)
    if not header:
        table.add_issue(1, f"there is no header; begin with {','.join(FIELDS)}")
    return table


def _read_json(path: Path, text: str) -> _Table:
    table = _Table(path)
    try:
        items = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"this is not JSON: {error.msg}; fix it"
        table.add_issue(error.lineno, message, error.colno)
        return table
    if not isinstance(items, list):
        table.add_issue(1, "a trace is a list of mappings; put the arrivals into [ ]")
        return table
    table.line_of = _find_lines(text)
    for index, item in enumerate(items):
        if isinstance(item, dict):
            filled = {name: value for name, value in item.items() if value is not None}
            table.rows.append((index, filled))
        else:
            table.add_issue(index, "an arrival is a mapping; write {...}")
    return table


def _find_lines(text: str) -> Callable[[int], int]:
    """Return what tells where each item of a JSON list begins.

    JSON is YAML, whose parser keeps the places; it is slow, so only issues need it.
    """

    @functools.cache
    def places() -> list[int]:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        root = yaml.compose(text, Loader=loader)
        return [node.start_mark.line + 1 for node in root.value] if root else []

    return lambda index: places()[index] if index < len(places()) else 1
