"""From the metrics of runs to verdicts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import exp
from statistics import fmean

from stowage_testbed.compare.verdicts.family import FEWEST_ROUNDS, HEADLINES
from stowage_testbed.compare.verdicts.interval import Interval, student_interval
from stowage_testbed.compare.verdicts.levels import ERROR_RATE, levels
from stowage_testbed.compare.verdicts.measured_run import MeasuredRun
from stowage_testbed.compare.verdicts.null_tables import DRAWS
from stowage_testbed.compare.verdicts.pairs import Pairs, paired
from stowage_testbed.compare.verdicts.reasons import reason, too_few
from stowage_testbed.compare.verdicts.verdict import ArmVerdicts, Outcome, Verdict

MOST_LOG = 700.0
"""Of a ratio: beyond it no float holds the ratio, and JSON has no infinity."""

SURVIVORS = "more of its runs have no value than of the baseline's: these are the good"


def judge(
    runs: Iterable[MeasuredRun],
    baseline: str,
    *,
    headlines: Collection[str] = HEADLINES,
) -> tuple[ArmVerdicts, ...]:
    """Return the verdicts of every other arm, for each kind of client limits."""
    found = tuple(runs)
    limits = dict.fromkeys(run.limits for run in found)
    arms = dict.fromkeys(run.arm for run in found if run.arm != baseline)
    return tuple(
        judge_arm(
            [run for run in found if run.limits == kind and run.arm == baseline],
            [run for run in found if run.limits == kind and run.arm == arm],
            headlines=headlines,
        )
        for kind in limits
        for arm in arms
        if any(run.limits == kind and run.arm == arm for run in found)
        and any(run.limits == kind and run.arm == baseline for run in found)
    )


def judge_arm(
    baseline: Sequence[MeasuredRun],
    arm: Sequence[MeasuredRun],
    *,
    headlines: Collection[str] = HEADLINES,
    draws: int = DRAWS,
) -> ArmVerdicts:
    """Return the verdicts of one arm; neither sequence is empty.

    ``draws`` is the precision of the bootstrap.
    """
    first = {run.round_number: run for run in baseline}
    other = {run.round_number: run for run in arm}
    both = [
        number
        for number in sorted(first.keys() & other.keys())
        if not first[number].error and not other[number].error
    ]
    pairs = paired([first[n] for n in both], [other[n] for n in both])
    fewer = _failed(other) > _failed(first)
    level_of = levels(pairs, headlines, draws)
    return ArmVerdicts(
        arm=arm[0].arm,
        baseline=baseline[0].arm,
        limits=arm[0].limits,
        rounds=len(both),
        left_out=_left_out(first, other),
        verdicts=tuple(
            _verdict(one, level_of.get(one.metric.name, ERROR_RATE), headlines, fewer)
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


def _verdict(
    pairs: Pairs, level: float, headlines: Collection[str], survivors: bool
) -> Verdict:
    """Return the verdict; of ``survivors`` nothing is better."""
    metric = pairs.metric
    interval = None
    if len(pairs.changes) >= FEWEST_ROUNDS:
        interval = student_interval(pairs.changes, pairs.rounding_variance, level)
    outcome = _outcome(pairs, interval)
    why = reason(pairs, interval, outcome) if interval else too_few(pairs)
    if outcome == "better" and (survivors or pairs.arm_lacks_more):
        outcome, why = "not judged", SURVIVORS
    estimate, low, high = _on_scale(pairs, interval)
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
        headline=metric.name in headlines,
        reason=why,
    )


def _outcome(pairs: Pairs, interval: Interval | None) -> Outcome:
    if pairs.metric.better == "neither":
        return "not judged"
    if interval is None or not interval.leaves_out_zero:
        return "no difference shown"
    lower = interval.mean < 0
    return "better" if lower == (pairs.metric.better == "lower") else "worse"


def _on_scale(
    pairs: Pairs, interval: Interval | None
) -> tuple[float | None, float | None, float | None]:
    if interval is None:
        return None, None, None
    ends = (interval.mean, interval.low, interval.high)
    if pairs.scale == "difference":
        return ends
    mean, low, high = (exp(min(end, MOST_LOG)) for end in ends)
    return mean, low, high
