"""Whether our differences point the way that the paper's do."""

from __future__ import annotations

from collections.abc import Iterator

from stowage_testbed.compare.result import Result
from stowage_testbed.compare.tables.burst_table import COLUMNS, is_papers
from stowage_testbed.compare.tables.numbers import change_shown
from stowage_testbed.compare.tables.paper import CITATION, paper_row
from stowage_testbed.compare.tables.verdict_table import verdict_of
from stowage_testbed.compare.verdicts.verdict import UNCHANGED, Verdict
from stowage_testbed.text.table import Table

SAME = 0.01
"""The paper prints no spread; ratios within a hundredth of 1 have no direction."""


def direction_table(result: Result, limits: str) -> Table:
    """Return each difference that the paper printed, beside ours.

    Empty where workload or baseline are not the paper's.
    """
    rows = [
        row
        for arm in result.others
        if result.comparison.baseline == "default" and is_papers(result, limits)
        for row in _rows(result, limits, arm)
    ]
    return Table(
        title=f"Direction against the paper, {limits} client limits",
        headers=("arm", "figure", "paper, of default", "ours, of default", "direction"),
        rows=tuple(rows),
        notes=(f"Paper: {CITATION}.",) if rows else (),
    )


def _rows(result: Result, limits: str, arm: str) -> Iterator[tuple[str, ...]]:
    row, default = paper_row(arm), paper_row("default")
    if row is None or default is None:
        return
    for name, heading in COLUMNS:
        verdict = verdict_of(result, limits, arm, name)
        if name in row.values and verdict is not None:
            ratio = row.values[name] / default.values[name]
            printed = f"x{ratio:.3f}"
            yield arm, heading, printed, change_shown(verdict), _said(ratio, verdict)


def _said(ratio: float, verdict: Verdict) -> str:
    if verdict.outcome not in {"better", "worse"} or verdict.estimate is None:
        return "ours shows none"
    if abs(ratio - 1) < SAME:
        return "the paper's shows none"
    ours_higher = verdict.estimate > UNCHANGED[verdict.scale]
    return "the same" if ours_higher == (ratio > 1) else "the opposite"
