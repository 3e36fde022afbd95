"""From the metrics of runs to verdicts, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, log
from statistics import fmean

from stowage_testbed.compare.verdicts.interval import (
    Interval,
    rounds_to_show,
    student_interval,
)
from stowage_testbed.compare.verdicts.levels import (
    ERROR_RATE,
    FEWEST_ROUNDS,
    HEADLINES,
    levels,
)
from stowage_testbed.compare.verdicts.pairs import Pairs, paired
from stowage_testbed.compare.verdicts.verdict import (
    ArmVerdicts,
    MeasuredRun,
    Outcome,
    Verdict,
    on_scale,
    outcome_of,
)

SURVIVORS = "more of its runs have no value than of the baseline's: these are the good"


def judge(runs: Iterable[MeasuredRun], baseline: str) -> tuple[ArmVerdicts, ...]:
    """Return the verdicts of every other arm, for each kind of client limits."""
    found = tuple(runs)
    limits = dict.fromkeys(run.limits for run in found)
    arms = dict.fromkeys(run.arm for run in found if run.arm != baseline)
    return tuple(
        judge_arm(
            [run for run in found if run.limits == kind and run.arm == baseline],
            [run for run in found if run.limits == kind and run.arm == arm],
        )
        for kind in limits
        for arm in arms
        if any(run.limits == kind and run.arm == arm for run in found)
        and any(run.limits == kind and run.arm == baseline for run in found)
    )


def judge_arm(
    baseline: Sequence[MeasuredRun], arm: Sequence[MeasuredRun]
) -> ArmVerdicts:
    """Return the verdicts of one arm; neither sequence is empty."""
    first = {run.round_number: run for run in baseline}
    other = {run.round_number: run for run in arm}
    both = [
        number
        for number in sorted(first.keys() & other.keys())
        if not first[number].error and not other[number].error
    ]
    pairs = paired([first[n] for n in both], [other[n] for n in both])
    fewer = _failed(other) > _failed(first)
    level_of = levels(pairs)
    return ArmVerdicts(
        arm=arm[0].arm,
        baseline=baseline[0].arm,
        limits=arm[0].limits,
        rounds=len(both),
        left_out=_left_out(first, other),
        verdicts=tuple(
            _verdict(one, level_of.get(one.metric.name, ERROR_RATE), fewer)
            for one in pairs
        ),
    )


def _failed(runs: dict[int, MeasuredRun]) -> int:
    return sum(bool(run.error) for run in runs.values())


def _left_out(
    first: dict[int, MeasuredRun], other: dict[int, MeasuredRun]
) -> tuple[str, ...]:
    lone = first.keys() ^ other.keys()
    missing = [f"round {number}: only one arm has run" for number in sorted(lone)]
    runs = (*first.values(), *other.values())
    failed = [
        f"round {run.round_number}: {run.arm}: {run.error}" for run in runs if run.error
    ]
    return (*missing, *failed)


def _verdict(pairs: Pairs, level: float, survivors: bool) -> Verdict:
    """Return the verdict; of ``survivors`` nothing is better."""
    metric = pairs.metric
    interval = None
    if len(pairs.changes) >= FEWEST_ROUNDS:
        interval = student_interval(pairs.changes, pairs.rounding_variance, level)
    ends = (interval.mean, interval.low, interval.high) if interval else None
    outcome = outcome_of(metric.better, ends)
    why = reason(pairs, interval, outcome) if interval else too_few(pairs)
    if outcome == "better" and (survivors or pairs.arm_lacks_more):
        outcome, why = "not judged", SURVIVORS
    estimate, low, high = on_scale(pairs.scale, ends)
    return Verdict(
        name=metric.name,
        unit=metric.unit,
        better=metric.better,
        outcome=outcome,
        baseline=fmean(pairs.baseline) if pairs.baseline else None,
        arm=fmean(pairs.arm) if pairs.arm else None,
        scale=pairs.scale,
        estimate=estimate,
        low=low,
        high=high,
        confidence=1 - level,
        rounds=len(pairs.changes),
        headline=metric.name in HEADLINES,
        reason=why,
    )


MOST_ROUNDS = 200
"""Beyond this many rounds an answer takes too long."""


TENFOLD = log(10)
"""Beyond this the number is of no use."""

NEAR = 1.01
"""Ratios below it need more digits to be distinguished from 1."""


def too_few(pairs: Pairs) -> str:
    """Return why there is no interval."""
    if pairs.missing:
        return f"no value to compare: {pairs.missing}"
    if not pairs.changes.size:
        return "no round has a value of both arms"
    return "one round shows no spread; two are the fewest, five are advisable"


def reason(pairs: Pairs, interval: Interval, outcome: Outcome) -> str:
    """Return the reason for a verdict with an interval."""
    missing = f"; other rounds have no value: {pairs.missing}" if pairs.missing else ""
    return _core(pairs, interval, outcome) + missing


def _core(pairs: Pairs, interval: Interval, outcome: Outcome) -> str:
    if outcome == "not judged":
        return "neither direction is an improvement"
    if not pairs.changes.any():
        return "the same in every round"
    if outcome != "no difference shown":
        side = "above" if interval.mean > 0 else "below"
        neutral = "1" if pairs.scale == "ratio" else "0"
        return f"the whole interval lies {side} {neutral}"
    shown = _shown(interval, pairs)
    needed = rounds_to_show(interval, MOST_ROUNDS)
    if needed is None:
        return f"{interval.rounds} rounds show changes beyond {shown}"
    return (
        f"{interval.rounds} rounds show changes beyond {shown}; "
        f"about {needed} would show this one"
    )


def _shown(interval: Interval, pairs: Pairs) -> str:
    if pairs.scale == "ratio" and interval.half_width > TENFOLD:
        return "tenfold"
    if pairs.scale == "ratio":
        ratio = exp(interval.half_width)
        return f"x{ratio:.3g}" if ratio > NEAR else f"x{ratio:.5f}"
    return f"{interval.half_width:.3g} {pairs.metric.unit}"
