"""The main table, a metric a row and an arm a column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from stowage_testbed.compare.result import Result
from stowage_testbed.compare.tables.numbers import MISSING, change_shown, shown, spread_shown
from stowage_testbed.compare.verdicts.spending import FIRST_LOOK
from stowage_testbed.compare.verdicts.verdict import Verdict
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.text.table import Table

ARROWS = {"lower": "↓", "higher": "↑", "neither": ""}
"""Which way is better, as the papers mark it."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One arm's value and what is said of it; of the baseline nothing is."""

    value: str
    spread: str
    change: str = ""
    outcome: str = ""
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One metric; the headlines are shown at first."""

    name: str
    unit: str
    arrow: str
    headline: bool
    cells: tuple[Cell, ...]


def verdict_table(result: Result, limits: str, *, whole: bool = False) -> Table:
    """Return the table under one kind of client limits.

    Without ``whole`` it has the headlines alone.
    """
    rows = verdict_rows(result, limits)
    kept = [row for row in rows if whole or row.headline]
    said = [*notes(result, limits)]
    if len(kept) < len(rows):
        hidden = len(rows) - len(kept)
        said.append(f"{hidden} more metrics have no verdict; --all lists them.")
    return Table(
        title=f"Verdicts against {result.comparison.baseline}, {limits} client limits",
        headers=("metric", "unit", *result.arms),
        rows=tuple((f"{row.name} {row.arrow}".strip(), row.unit, *map(_text, row.cells)) for row in kept),
        notes=tuple(said),
    )


def verdict_rows(result: Result, limits: str) -> tuple[Row, ...]:
    """Return every metric under one kind of client limits, headlines first."""
    found: dict[str, Metric] = {}
    for run in result.runs:
        if run.limits == limits:
            for metric in run.metrics:
                known = found.get(metric.name)
                if known is None or known.value is None:
                    found[metric.name] = metric
    asked = result.comparison.question.headlines
    first = [found[name] for name in asked if name in found]
    rest = [metric for name, metric in found.items() if name not in asked]
    metrics = (*first, *rest)
    return tuple(_row(result, limits, metric) for metric in metrics)


def verdict_of(result: Result, limits: str, arm: str, name: str) -> Verdict | None:
    """Return what is said of one metric of one arm."""
    judged = result.judged(limits, arm)
    if judged is None:
        return None
    return next((one for one in judged.verdicts if one.name == name), None)


def _row(result: Result, limits: str, metric: Metric) -> Row:
    cells = tuple(_cell(result, limits, arm, metric) for arm in result.arms)
    return Row(
        name=metric.name,
        unit="MiB" if metric.unit == "bytes" else metric.unit,
        arrow=ARROWS[metric.better],
        headline=metric.name in result.comparison.question.headlines,
        cells=cells,
    )


def _cell(result: Result, limits: str, arm: str, metric: Metric) -> Cell:
    values = result.values(limits, arm, metric.name)
    value = shown(fmean(values) if values else None, metric.unit)
    spread = spread_shown(values, metric.unit)
    verdict = verdict_of(result, limits, arm, metric.name)
    if verdict is None:
        return Cell(value, spread)
    return Cell(value, spread, change_shown(verdict), verdict.outcome, verdict)


def _text(cell: Cell) -> str:
    if cell.value == MISSING:
        return MISSING
    outcome = "" if cell.outcome == "not judged" else cell.outcome
    lines = (f"{cell.value} {cell.spread}".strip(), cell.change, outcome)
    return "\n".join(filter(None, lines))


def notes(result: Result, limits: str) -> Iterable[str]:
    """Yield what must be known to read the verdicts."""
    yield (
        "Mean of the rounds (least to most); change from the baseline in the same "
        "round [interval]; a verdict is a headline's interval that leaves out no "
        "change, and all verdicts on an arm hold together in 19 of 20 comparisons. "
        "↓ lower, ↑ higher is better."
    )
    if result.comparison.question.each_round:
        yield (
            f"Each round from round {FIRST_LOOK} on was looked at, with a share of "
            "the allowed error; a verdict once given stands."
        )
    for arm in result.others:
        judged = result.judged(limits, arm)
        if judged is None:
            yield f"{arm}: no run to compare."
            continue
        yield from (f"{arm}: left out: {why}" for why in judged.left_out)
