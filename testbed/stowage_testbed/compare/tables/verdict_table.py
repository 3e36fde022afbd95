"""The main table, a metric a row and an arm a column, and a sentence an arm."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from stowage_testbed.compare.result import Result
from stowage_testbed.compare.tables.numbers import (
    MISSING,
    change_shown,
    estimate_shown,
    shown,
    spread_shown,
)
from stowage_testbed.compare.verdicts.levels import HEADLINES
from stowage_testbed.compare.verdicts.verdict import ArmVerdicts, Outcome, Verdict
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.text.table import Table

CALLED = ("better", "worse")

ARROWS = {"lower": "↓", "higher": "↑", "neither": ""}
"""Which way is better, as the papers mark it."""


def verdict_table(result: Result, limits: str, *, whole: bool = False) -> Table:
    """Return the table under one kind of client limits.

    Without ``whole`` it has the headline metrics and those with a verdict.
    """
    metrics = all_metrics(result, limits)
    kept = [one for one in metrics if whole or _telling(result, limits, one.name)]
    said = [*notes(result, limits)]
    if len(kept) < len(metrics):
        hidden = len(metrics) - len(kept)
        said.append(f"{hidden} more metrics show no difference; --all lists them.")
    return Table(
        title=f"Verdicts against {result.comparison.baseline}, {limits} client limits",
        headers=("metric", "unit", *result.arms),
        rows=tuple(_row(result, limits, metric) for metric in kept),
        notes=tuple(said),
    )


def verdict_of(result: Result, limits: str, arm: str, name: str) -> Verdict | None:
    """Return what is said of one metric of one arm."""
    judged = result.judged(limits, arm)
    if judged is None:
        return None
    return next((one for one in judged.verdicts if one.name == name), None)


def all_metrics(result: Result, limits: str) -> list[Metric]:
    """Return the metrics that some run has, headlines first."""
    found: dict[str, Metric] = {}
    for run in result.runs:
        if run.limits == limits:
            for metric in run.metrics:
                known = found.get(metric.name)
                if known is None or known.value is None:
                    found[metric.name] = metric
    return sorted(found.values(), key=lambda one: one.name not in HEADLINES)


def _telling(result: Result, limits: str, name: str) -> bool:
    found = (verdict_of(result, limits, arm, name) for arm in result.others)
    return name in HEADLINES or any(one and one.outcome in CALLED for one in found)


def _row(result: Result, limits: str, metric: Metric) -> tuple[str, ...]:
    unit = "MiB" if metric.unit == "bytes" else metric.unit
    cells = (_cell(result, limits, arm, metric) for arm in result.arms)
    return (f"{metric.name} {ARROWS[metric.better]}".strip(), unit, *cells)


def _cell(result: Result, limits: str, arm: str, metric: Metric) -> str:
    values = result.values(limits, arm, metric.name)
    if not values:
        return MISSING
    mean = shown(fmean(values), metric.unit)
    value = f"{mean} {spread_shown(values, metric.unit)}".strip()
    verdict = verdict_of(result, limits, arm, metric.name)
    if verdict is None:
        return value
    return "\n".join([value, *_said(verdict)])


def _said(verdict: Verdict) -> Iterable[str]:
    change = change_shown(verdict)
    if change:
        yield change
    if verdict.outcome != "not judged":
        yield verdict.outcome


def notes(result: Result, limits: str) -> Iterable[str]:
    """Yield what must be known to read the verdicts."""
    yield (
        "Mean of the rounds (least to most); change from the baseline in the same "
        "round [interval]; a verdict is an interval that leaves out no change, and all "
        "verdicts on an arm hold together in 19 of 20 comparisons. "
        "↓ lower, ↑ higher is better."
    )
    for arm in result.others:
        judged = result.judged(limits, arm)
        if judged is None:
            yield f"{arm}: no run to compare."
            continue
        yield from (f"{arm}: left out: {why}" for why in judged.left_out)


MOST_NAMED = 4
"""Metrics of one outcome that a sentence names."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What is said of one arm under one kind of client limits."""

    arm: str
    limits: str
    text: str


def overview(result: Result) -> tuple[Summary, ...]:
    """Return a summary for each arm that is compared with the baseline."""
    return tuple(
        Summary(one.arm, one.limits, _sentence(one)) for one in result.verdicts
    )


def _sentence(judged: ArmVerdicts) -> str:
    parts = [
        _named(judged, outcome) for outcome in ("better", "worse")
        if judged.outcomes(outcome)
    ]  # fmt: skip
    quiet = len(judged.outcomes("no difference shown"))
    rounds = f"{judged.rounds} round{'' if judged.rounds == 1 else 's'}"
    if not parts:
        return f"no difference shown in any of {quiet} metrics by {rounds}."
    return f"{'; '.join(parts)}; {quiet} show no difference ({rounds})."


def _named(judged: ArmVerdicts, outcome: Outcome) -> str:
    called = sorted(judged.outcomes(outcome), key=lambda one: not one.headline)
    more = len(called) - MOST_NAMED
    names = ", ".join(_metrics(called[:MOST_NAMED]))
    return f"{outcome}: {names}{f' and {more} more' if more > 0 else ''}"


def _metrics(verdicts: Iterable[Verdict]) -> Iterable[str]:
    return (f"{one.name} {estimate_shown(one)}" for one in verdicts)
