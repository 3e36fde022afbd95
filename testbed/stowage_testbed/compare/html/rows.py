"""The verdict table of the page: what the template needs, and no more."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from stowage_testbed.compare.html.forest import Forest, forest
from stowage_testbed.compare.result import Result
from stowage_testbed.compare.tables.numbers import change_shown, shown, spread_shown
from stowage_testbed.compare.tables.verdict_table import (
    ARROWS,
    CALLED,
    all_metrics,
    verdict_of,
)
from stowage_testbed.compare.verdicts.family import HEADLINES
from stowage_testbed.metrics.metric import Metric

MARKS = {
    "better": "▲ better",
    "worse": "▼ worse",
    "no difference shown": "no difference shown",
    "not judged": "",
}
"""A sign beside the word and the colour."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One arm's value and what is said of it."""

    value: str
    spread: str
    change: str = ""
    outcome: str = ""
    mark: str = ""
    reason: str = ""
    forest: Forest | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One metric.

    Attributes
    ----------
    telling
        Whether it is a headline or some arm has a verdict: shown at first.
    """

    name: str
    unit: str
    arrow: str
    headline: bool
    telling: bool
    cells: tuple[Cell, ...]


def verdict_rows(result: Result, limits: str) -> tuple[Row, ...]:
    """Return every metric under one kind of client limits, headlines first."""
    return tuple(_row(result, limits, one) for one in all_metrics(result, limits))


def _row(result: Result, limits: str, metric: Metric) -> Row:
    cells = tuple(_cell(result, limits, arm, metric) for arm in result.arms)
    headline = metric.name in HEADLINES
    return Row(
        name=metric.name,
        unit=metric.unit,
        arrow=ARROWS[metric.better],
        headline=headline,
        telling=headline or any(cell.outcome in CALLED for cell in cells),
        cells=cells,
    )


def _cell(result: Result, limits: str, arm: str, metric: Metric) -> Cell:
    values = result.values(limits, arm, metric.name)
    value = shown(fmean(values) if values else None, metric.unit)
    spread = spread_shown(values, metric.unit)
    verdict = verdict_of(result, limits, arm, metric.name)
    if verdict is None:
        return Cell(value, spread)
    return Cell(
        value=value,
        spread=spread,
        change=change_shown(verdict),
        outcome=verdict.outcome,
        mark=MARKS[verdict.outcome],
        reason=verdict.reason,
        forest=forest(verdict),
    )
