"""Whether an arm is better or worse than the baseline, and how sure that is: `judge`.

If an arm is compared with itself, in 19 of 20 comparisons not one headline may be called better or worse. The sample is
the round, and a verdict is an interval that leaves out "no change"; docs/explanation/comparisons.md has the reasons.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import exp, isfinite, log, nan
from statistics import fmean
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from stowage_testbed.metrics.record import Better, Metric

ERROR_RATE = 0.05
"""One comparison of an arm with itself in twenty may call a headline better or worse."""

FEWEST_ROUNDS = 2
FIRST_LOOK = 4
"""Rounds before the first look: after three a change must be nine times its spread, after four three times."""

SMALL = 1.05
"""A ratio that is closer to 1 for sure needs no further rounds."""

MOST_ROUNDS = 200
MOST_LOG = 700.0
"""Of a ratio: beyond it no float holds the ratio, and JSON has no infinity."""

Outcome = Literal["better", "worse", "no difference shown", "not judged"]

Scale = Literal["ratio", "difference"]
"""``ratio`` is arm over baseline, ``difference`` arm less baseline."""

UNCHANGED: dict[Scale, float] = {"ratio": 1.0, "difference": 0.0}

Ends = tuple[float, float, float]
"""A change and the ends of its interval: logarithms of ratios, or differences."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Question:
    """The metrics that get a verdict, the leading one first, and whether each round is looked at."""

    headlines: tuple[str, ...]
    each_round: bool = False


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """The metrics of one arm in one round; one with an ``error`` does not count, nor does a round with two clocks."""

    arm: str
    limits: str
    round_number: int
    metrics: tuple[Metric, ...]
    error: str = ""
    clock: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One metric of one arm.

    ``baseline`` and ``arm`` are means over the rounds that have both values, of which there are ``rounds``. The change
    and its interval are on ``scale``, and `None` with fewer than two rounds; a ratio is the geometric mean of the
    rounds'. ``confidence`` is that of this interval alone, at the last look. ``decided``: further rounds would not tell
    more.
    """

    name: str
    unit: str
    better: Better
    outcome: Outcome
    baseline: float | None
    arm: float | None
    scale: Scale
    estimate: float | None
    low: float | None
    high: float | None
    confidence: float
    rounds: int
    headline: bool
    reason: str
    decided: bool = True


@dataclass(frozen=True, slots=True)
class ArmVerdicts:
    """The verdicts on one arm under one kind of client limits, with the rounds that count and why others do not."""

    arm: str
    baseline: str
    limits: str
    rounds: int
    left_out: tuple[str, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def headlines(self) -> tuple[Verdict, ...]:
        """The verdicts on the headlines, the leading one first."""
        return tuple(one for one in self.verdicts if one.headline)

    @property
    def open(self) -> tuple[str, ...]:
        """The headlines that more rounds may decide."""
        return tuple(one.name for one in self.headlines if not one.decided)


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean change, how far it can be trusted, the spread of one round's change, and the chance of a miss.

    ``ends`` hold at every look so far.
    """

    mean: float
    half_width: float
    spread: float
    rounds: int
    level: float
    ends: Ends


class _Pairs:
    """One metric in some rounds: rows are baseline and arm, with NaN where a run has no value."""

    def __init__(self, metric: Metric, values: Floats, resolutions: Floats, missing: str = "") -> None:
        self.metric, self.missing = metric, missing
        self._all, self._resolutions = values, resolutions
        lacking = np.isnan(values)
        baseline_lacks, arm_lacks = lacking.sum(axis=1)
        self.arm_lacks_more = bool(arm_lacks > baseline_lacks)
        self.values = values[:, ~lacking.any(axis=0)]
        self.scale: Scale = "ratio" if (self.values > 0).all() else "difference"
        before, after = np.log(self.values) if self.scale == "ratio" else self.values
        self.changes: Floats = after - before

    def until(self, rounds: int) -> _Pairs:
        """Return the first rounds."""
        return _Pairs(self.metric, self._all[:, :rounds], self._resolutions[:, :rounds])

    def interval(self, level: float) -> Interval | None:
        """Return the interval of the change that misses with chance ``level``; `None` with fewer than two rounds."""
        if len(self.changes) < FEWEST_ROUNDS:
            return None
        # A value that is one of a row of steps is off by up to half a step: a twelfth of the step's square. If every
        # round shows the same change and no resolution is known, that change may be the step.
        resolution = self._resolutions.max()
        if not resolution:
            rounding = float(self.changes[0]) ** 2 / 6 if float(np.ptp(self.changes)) == 0 else 0.0
        elif self.scale == "difference":
            rounding = resolution**2 / 6
        else:
            rounding = float(((resolution / self.values) ** 2).sum(axis=0).mean()) / 12
        return student_interval(self.changes, rounding, level)


def judge(runs: Iterable[MeasuredRun], baseline: str, question: Question) -> tuple[ArmVerdicts, ...]:
    """Return the verdicts on every other arm, for each kind of client limits."""
    by_arm = defaultdict[tuple[str, str], list[MeasuredRun]](list)
    for run in runs:
        by_arm[run.limits, run.arm].append(run)
    limits, arms = (dict.fromkeys(key[part] for key in by_arm) for part in (0, 1))
    return tuple(
        judge_arm(by_arm[kind, baseline], by_arm[kind, arm], question)
        for kind, arm in product(limits, arms)
        if arm != baseline and {(kind, baseline), (kind, arm)} <= by_arm.keys()
    )


def judge_arm(baseline: Sequence[MeasuredRun], arm: Sequence[MeasuredRun], question: Question) -> ArmVerdicts:
    """Return the verdicts on one arm; neither sequence is empty."""
    first, other = ({run.round_number: run for run in runs} for runs in (baseline, arm))
    common = [(first[number], other[number]) for number in sorted(first.keys() & other.keys())]
    rounds = [(a, b) for a, b in common if not a.error and not b.error and a.clock == b.clock]
    pairs = _pair(rounds)
    looks = _look({name: pairs[name] for name in question.headlines if name in pairs}, len(rounds), question)
    fails_more = sum(bool(run.error) for run in other.values()) > sum(bool(run.error) for run in first.values())
    return ArmVerdicts(
        arm=arm[0].arm,
        baseline=baseline[0].arm,
        limits=arm[0].limits,
        rounds=len(rounds),
        left_out=(
            *(f"round {number}: only one arm has run" for number in sorted(first.keys() ^ other.keys())),
            *(f"round {a.round_number}: two clocks, {a.clock} and {b.clock}" for a, b in common if a.clock != b.clock),
            *(f"round {r.round_number}: {r.arm}: {r.error}" for r in (*first.values(), *other.values()) if r.error),
        ),
        verdicts=tuple(
            _verdict(pairs[name], looks[name], question, fails_more=fails_more)
            if name in looks
            else _verdict(pairs[name], pairs[name].interval(ERROR_RATE), None, fails_more=fails_more)
            for name in dict.fromkeys((*looks, *pairs))
        ),
    )


def student_interval(changes: Floats, rounding_variance: float, level: float) -> Interval:
    """Return the interval of at least two changes that misses with chance ``level``."""
    spread = float(np.sqrt(float(changes.var(ddof=1)) + rounding_variance))
    mean, half_width = float(changes.mean()), float(_reach(np.array(len(changes)), level)) * spread
    return Interval(mean, half_width, spread, len(changes), level, (mean, mean - half_width, mean + half_width))


def share_of_look(rounds: int) -> float:
    """Return the error of a look after so many rounds, from the fourth on: shares add up to 1 (Lan, DeMets, 1983)."""
    look = rounds - FIRST_LOOK + 1
    return ERROR_RATE / (look * (look + 1))


def on_scale(scale: Scale, ends: Ends | None) -> tuple[float | None, float | None, float | None]:
    """Return estimate, low and high as they are shown."""
    if ends is None or scale == "difference":
        return ends or (None, None, None)
    estimate, low, high = (exp(min(end, MOST_LOG)) for end in ends)
    return estimate, low, high


def outcome_of(better: Better, ends: Ends | None) -> Outcome:
    """Return whether an interval leaves out "no change", and on which side."""
    if better == "neither":
        return "not judged"
    if ends is None or ends[1] <= 0 <= ends[2]:
        return "no difference shown"
    return "better" if (ends[2] < 0) == (better == "lower") else "worse"


def _pair(rounds: Sequence[tuple[MeasuredRun, MeasuredRun]]) -> dict[str, _Pairs]:
    """Return every metric that a run of either arm has, by its name."""
    sides = [[{metric.name: metric for metric in pair[side].metrics} for pair in rounds] for side in (0, 1)]
    found = defaultdict[str, list[Metric]](list)
    for run in (*sides[0], *sides[1]):
        for name, metric in run.items():
            found[name].append(metric)
    paired = {}
    for name, ones in found.items():
        values = np.array([[_value(run.get(name)) for run in side] for side in sides])
        resolutions = np.array([[run[name].resolution if name in run else 0.0 for run in side] for side in sides])
        notes = dict.fromkeys(metric.note for metric in ones if np.isnan(_value(metric)) and metric.note)
        paired[name] = _Pairs(ones[0], values, resolutions, "; ".join(notes))
    return paired


def _value(metric: Metric | None) -> float:
    return metric.value if metric is not None and metric.value is not None and isfinite(metric.value) else nan


def _look(headlines: Mapping[str, _Pairs], rounds: int, question: Question) -> dict[str, Interval | None]:
    """Return what one look at the headlines has come to, or one after each round: then a verdict once given stands."""
    found: dict[str, Interval | None] = dict.fromkeys(headlines)
    scales: dict[str, Scale] = {}
    for count in range(FIRST_LOOK, rounds + 1) if question.each_round else (rounds,):
        pairs = {name: one.until(count) for name, one in headlines.items()}
        levels = _share(pairs, share_of_look(count) if question.each_round else ERROR_RATE)
        for name, one in pairs.items():
            before, new = found[name], one.interval(levels[name])
            if before and new and scales[name] == one.scale:
                low, high = max(new.ends[1], before.ends[1]), min(new.ends[2], before.ends[2])
                # Otherwise one of the two is wrong, which is what the error rate allows for.
                if low <= high:
                    new = replace(new, ends=(min(max(new.ends[0], low), high), low, high))
            found[name], scales[name] = new, one.scale
    return found


def _share(headlines: Mapping[str, _Pairs], error: float) -> dict[str, float]:
    """Return the error of each headline (Holm): what is shown hands its share on."""
    left = {
        name: one
        for name, one in headlines.items()
        if one.metric.better != "neither" and len(one.changes) >= FEWEST_ROUNDS and one.changes.any()
    }
    levels = dict.fromkeys(headlines, error)
    while left:
        level = error / len(left)
        found = {name: interval for name, one in left.items() if (interval := one.interval(level))}
        shown = [name for name, one in found.items() if abs(one.mean) > one.half_width]
        # At the last step, those that are left keep what they have.
        for name in shown or tuple(left):
            levels[name] = level
            del left[name]
    return levels


def _verdict(pairs: _Pairs, interval: Interval | None, question: Question | None, *, fails_more: bool) -> Verdict:
    """Return the verdict on a headline of a question; on other metrics, without one, there is none."""
    ends = interval.ends if interval else None
    outcome: Outcome = outcome_of(pairs.metric.better, ends) if question else "not judged"
    reason = _reason(pairs, interval, outcome, question)
    if outcome == "better" and (fails_more or pairs.arm_lacks_more):
        outcome, reason = "not judged", "more of its runs have no value than of the baseline's: these are the good"
    decided = outcome != "no difference shown" or not pairs.changes.size
    if not decided and ends is not None:
        small = pairs.scale == "ratio" and max(-ends[1], ends[2]) <= log(SMALL)
        decided = small or not pairs.changes.any()
    baseline, arm = (fmean(side) if side.size else None for side in pairs.values)
    return Verdict(
        pairs.metric.name,
        pairs.metric.unit,
        pairs.metric.better,
        outcome,
        baseline,
        arm,
        pairs.scale,
        *on_scale(pairs.scale, ends),
        confidence=1 - (interval.level if interval else ERROR_RATE),
        rounds=len(pairs.changes),
        headline=question is not None,
        reason=reason,
        decided=decided,
    )


def _reason(pairs: _Pairs, interval: Interval | None, outcome: Outcome, question: Question | None) -> str:
    if interval is None:
        if question and question.each_round and len(pairs.changes) >= FEWEST_ROUNDS:
            return f"verdicts begin with round {FIRST_LOOK}"
        if pairs.missing:
            return f"no value to compare: {pairs.missing}"
        if not pairs.changes.size:
            return "no round has a value of both arms"
        return "one round shows no spread; two are the fewest, five are advisable"
    if question is None:
        return "no headline: this interval holds by itself, not together with the others"
    if outcome == "not judged":
        said = "neither direction is an improvement"
    elif not pairs.changes.any():
        said = "the same in every round"
    elif outcome != "no difference shown":
        side = "above" if interval.ends[0] > 0 else "below"
        said = f"the whole interval lies {side} {UNCHANGED[pairs.scale]:g}"
    else:
        resolved, ratio = f"{interval.half_width:.3g} {pairs.metric.unit}", exp(min(interval.half_width, MOST_LOG))
        if pairs.scale == "ratio":
            # With few digits a small one reads as 1.
            resolved = "tenfold" if ratio > 10 else f"x{ratio:.3g}" if ratio > 1.01 else f"x{ratio:.5f}"  # noqa: PLR2004
        said = f"{interval.rounds} rounds show changes beyond {resolved}"
        needed = _rounds_to_show(interval, each_round=question.each_round)
        said += f"; about {needed} would show this one" if needed else ""
    return said + (f"; other rounds have no value: {pairs.missing}" if pairs.missing else "")


def _rounds_to_show(interval: Interval, *, each_round: bool) -> int | None:
    """Return how many rounds of this spread would show this mean, as a hint; `None` beyond `MOST_ROUNDS`."""
    rounds = np.arange(interval.rounds, MOST_ROUNDS + 1)
    level = np.full(rounds.shape, interval.level)
    if each_round and rounds.size:
        shares = np.array([share_of_look(max(n, FIRST_LOOK)) for n in rounds.tolist()])
        level *= shares / shares[0]
    enough = np.flatnonzero(_reach(rounds, level) * interval.spread < abs(interval.mean))
    return int(rounds[enough[0]]) if enough.size else None


def _reach(rounds: npt.NDArray[np.intp], level: float | Floats) -> Floats:
    """Return the half widths of intervals for a spread of 1."""
    return np.asarray(stdtrit(rounds - 1.0, 1 - level / 2) / np.sqrt(rounds), dtype=np.float64)
