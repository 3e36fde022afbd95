"""From the metrics of runs to verdicts, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import fmean

from stowage_testbed.compare.verdicts.interval import Interval, rounds_to_show
from stowage_testbed.compare.verdicts.looking import Look, look_alone, look_each_round, look_once, pair_rounds
from stowage_testbed.compare.verdicts.pairs import Pairs
from stowage_testbed.compare.verdicts.spending import ERROR_RATE, FEWEST_ROUNDS, FIRST_LOOK
from stowage_testbed.compare.verdicts.verdict import ArmVerdicts, MeasuredRun, Outcome, Verdict, on_scale, outcome_of

SURVIVORS = "more of its runs have no value than of the baseline's: these are the good"
NO_HEADLINE = "no headline: this interval holds by itself, not together with the others"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a comparison.

    Attributes
    ----------
    headlines
        Names of the metrics that are judged, the one that leads first.
    each_round
        Whether it is asked after each round, to see whether to go on.
    """

    headlines: tuple[str, ...]
    each_round: bool = False


def judge(runs: Iterable[MeasuredRun], baseline: str, question: Question) -> tuple[ArmVerdicts, ...]:
    """Return the verdicts of every other arm, for each kind of client limits."""
    found = tuple(runs)
    limits = dict.fromkeys(run.limits for run in found)
    arms = dict.fromkeys(run.arm for run in found if run.arm != baseline)
    return tuple(
        judge_arm(
            [run for run in found if run.limits == kind and run.arm == baseline],
            [run for run in found if run.limits == kind and run.arm == arm],
            question,
        )
        for kind in limits
        for arm in arms
        if any(run.limits == kind and run.arm == arm for run in found)
        and any(run.limits == kind and run.arm == baseline for run in found)
    )


def judge_arm(baseline: Sequence[MeasuredRun], arm: Sequence[MeasuredRun], question: Question) -> ArmVerdicts:
    """Return the verdicts of one arm; neither sequence is empty."""
    first = {run.round_number: run for run in baseline}
    other = {run.round_number: run for run in arm}
    both = [
        (first[number], other[number])
        for number in sorted(first.keys() & other.keys())
        if not first[number].error and not other[number].error
        if first[number].clock == other[number].clock
    ]
    look = look_each_round if question.each_round else look_once
    headlines = look(both, question.headlines)
    of_all = {one.metric.name: one for one in pair_rounds(both)}
    first_of_all = [name for name in question.headlines if name in headlines]
    fewer = _failed(other) > _failed(first)
    verdicts = [
        _judge(headlines[name], fewer, each_round=question.each_round) if name in headlines else _show(of_all[name])
        for name in dict.fromkeys((*first_of_all, *of_all))
    ]
    return ArmVerdicts(
        arm=arm[0].arm,
        baseline=baseline[0].arm,
        limits=arm[0].limits,
        rounds=len(both),
        left_out=_left_out(first, other),
        verdicts=tuple(verdicts),
    )


def _failed(runs: dict[int, MeasuredRun]) -> int:
    return sum(bool(run.error) for run in runs.values())


def _left_out(first: dict[int, MeasuredRun], other: dict[int, MeasuredRun]) -> tuple[str, ...]:
    lone = first.keys() ^ other.keys()
    missing = [f"round {number}: only one arm has run" for number in sorted(lone)]
    mixed = [
        f"round {number}: two clocks, {first[number].clock} and {other[number].clock}"
        for number in sorted(first.keys() & other.keys())
        if first[number].clock != other[number].clock
    ]
    runs = (*first.values(), *other.values())
    failed = [f"round {run.round_number}: {run.arm}: {run.error}" for run in runs if run.error]
    return (*missing, *mixed, *failed)


def _show(pairs: Pairs) -> Verdict:
    """Return a metric with its interval, of which nothing is said."""
    look = look_alone(pairs)
    why = NO_HEADLINE if look.interval else too_few(pairs)
    return _make_verdict(look, "not judged", why, headline=False)


def _judge(look: Look, survivors: bool, *, each_round: bool) -> Verdict:
    """Return the verdict on a headline; of ``survivors`` nothing is better."""
    pairs, interval = look.pairs, look.interval
    outcome = outcome_of(pairs.metric.better, look.ends)
    if interval is not None:
        why = reason(look, interval, outcome, each_round=each_round)
    elif each_round and len(pairs.changes) >= FEWEST_ROUNDS:
        why = f"verdicts begin with round {FIRST_LOOK}"
    else:
        why = too_few(pairs)
    if outcome == "better" and (survivors or pairs.arm_lacks_more):
        outcome, why = "not judged", SURVIVORS
    return _make_verdict(look, outcome, why, headline=True)


def _make_verdict(look: Look, outcome: Outcome, why: str, *, headline: bool) -> Verdict:
    pairs = look.pairs
    estimate, low, high = on_scale(pairs.scale, look.ends)
    return Verdict(
        name=pairs.metric.name,
        unit=pairs.metric.unit,
        better=pairs.metric.better,
        outcome=outcome,
        baseline=fmean(pairs.baseline) if pairs.baseline else None,
        arm=fmean(pairs.arm) if pairs.arm else None,
        scale=pairs.scale,
        estimate=estimate,
        low=low,
        high=high,
        confidence=1 - (look.interval.level if look.interval else ERROR_RATE),
        rounds=len(pairs.changes),
        headline=headline,
        reason=why,
        decided=_is_decided(look, outcome),
    )


SMALL = 1.05
"""A change that is smaller for sure need not be looked for any longer."""


def _is_decided(look: Look, outcome: Outcome) -> bool:
    """Return whether further rounds would not tell more that matters."""
    pairs, interval, ends = look.pairs, look.interval, look.ends
    if outcome != "no difference shown" or not pairs.changes.size:
        return True
    if interval is None or ends is None:
        return False
    if not pairs.changes.any():
        return True
    return pairs.scale == "ratio" and max(-ends[1], ends[2]) <= log(SMALL)


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


def reason(look: Look, interval: Interval, outcome: Outcome, *, each_round: bool) -> str:
    """Return the reason for a verdict with an interval."""
    pairs = look.pairs
    missing = f"; other rounds have no value: {pairs.missing}" if pairs.missing else ""
    return _core(look, interval, outcome, each_round=each_round) + missing


def _core(look: Look, interval: Interval, outcome: Outcome, *, each_round: bool) -> str:
    pairs = look.pairs
    if outcome == "not judged":
        return "neither direction is an improvement"
    if not pairs.changes.any():
        return "the same in every round"
    if outcome != "no difference shown" and look.ends is not None:
        side = "above" if look.ends[0] > 0 else "below"
        neutral = "1" if pairs.scale == "ratio" else "0"
        return f"the whole interval lies {side} {neutral}"
    shown = _shown(interval, pairs)
    needed = rounds_to_show(interval, MOST_ROUNDS, each_round=each_round)
    if needed is None:
        return f"{interval.rounds} rounds show changes beyond {shown}"
    return f"{interval.rounds} rounds show changes beyond {shown}; about {needed} would show this one"


def _shown(interval: Interval, pairs: Pairs) -> str:
    if pairs.scale == "ratio" and interval.half_width > TENFOLD:
        return "tenfold"
    if pairs.scale == "ratio":
        ratio = exp(interval.half_width)
        return f"x{ratio:.3g}" if ratio > NEAR else f"x{ratio:.5f}"
    return f"{interval.half_width:.3g} {pairs.metric.unit}"
