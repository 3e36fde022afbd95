"""A comparison in a sentence an arm."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stowage_testbed.compare.result import Result
from stowage_testbed.compare.tables.numbers import estimate_shown
from stowage_testbed.compare.verdicts.verdict import ArmVerdicts, Outcome, Verdict

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
    return tuple(Summary(one.arm, one.limits, _said(one)) for one in result.verdicts)


def _said(judged: ArmVerdicts) -> str:
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
