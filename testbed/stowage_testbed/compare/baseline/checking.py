"""Holds a comparison against an earlier one."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from pathlib import Path
from statistics import fmean
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from stowage_testbed.base.errors import InputError
from stowage_testbed.compare.baseline.document import Baseline, Series
from stowage_testbed.compare.calibration import Slowdown, slowdown
from stowage_testbed.compare.verdicts.pairs import Floats
from stowage_testbed.compare.verdicts.spending import ERROR_RATE
from stowage_testbed.compare.verdicts.verdict import Ends, Scale, Verdict, on_scale, outcome_of


@dataclass(frozen=True, slots=True)
class Change:
    """From before to now: a ratio's logarithm, or a difference."""

    scale: Scale
    mean: float
    half_width: float


def change(before: Series, now: Series, level: float) -> Change | None:
    """Return the change and an interval that misses with chance ``level``.

    ``None`` where a side has fewer than two rounds, which show no spread.
    """
    if min(len(before.values), len(now.values)) < 2:  # noqa: PLR2004 - a variance's least
        return None
    above_zero = all(value > 0 for value in (*before.values, *now.values))
    scale: Scale = "ratio" if above_zero else "difference"
    first, other = (_group(one, scale) for one in (before, now))
    parts = [variance / len(values) for values, variance in (first, other)]
    total = sum(parts)
    return Change(
        scale=scale,
        mean=float(other[0].mean() - first[0].mean()),
        half_width=_reach(parts, [len(first[0]), len(other[0])], level) * float(np.sqrt(total)),
    )


def _group(series: Series, scale: Scale) -> tuple[Floats, float]:
    """Return the values on their scale, and their variance with that of rounding."""
    values = np.asarray(series.values, dtype=np.float64)
    step = np.full_like(values, series.resolution)
    if scale == "ratio":
        step = series.resolution / values
        values = np.log(values)
    return values, float(values.var(ddof=1) + (step**2).mean() / 12)


def _reach(parts: list[float], counts: list[int], level: float) -> float:
    """Return Student's quantile at Welch's and Satterthwaite's degrees of freedom."""
    total = sum(parts)
    if total == 0:
        return 0.0
    weighed = sum(part**2 / (count - 1) for part, count in zip(parts, counts, strict=True))
    return float(stdtrit(total**2 / weighed, 1 - level / 2))


SURE_SPREADS = 2.0
"""Standard deviations of the machine's speed that a verdict has to hold over."""

FARTHEST = 2.0
"""How many times slower or faster a machine may be for times to be judged."""

SpeedDependence = Literal["time", "rate", "none"]
"""How a metric depends on the machine's speed: as a time, as a rate, or not at all."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One metric of one arm, now against before.

    ``verdict.baseline`` and ``verdict.arm`` are the means before and now as they were
    measured; the estimate and its interval are of the change that the machine does not
    account for.
    """

    limits: str
    arm: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Check:
    """All that is said of a comparison against an earlier one.

    Attributes
    ----------
    slowdown
        Of this machine against the earlier one; ``None`` if a speed is not known, and
        then nothing is scaled.
    missing
        Arms and metrics of the baseline that the comparison lacks, and runs of these
        arms that failed in it.
    """

    checked: tuple[Checked, ...]
    slowdown: Slowdown | None
    missing: tuple[str, ...]

    @property
    def worse(self) -> bool:
        """Whether anything is worse."""
        return any(one.verdict.outcome == "worse" for one in self.checked)

    @property
    def holds(self) -> bool:
        """Whether nothing is worse, and nothing is missing."""
        return not self.missing and not self.worse


def check(path: Path, before: Baseline, now: Baseline) -> Check:
    """Return the verdicts on every metric that both have.

    Raises
    ------
    InputError
        They are of other scenarios or conditions, or have no metric in common.
    """
    _same_scenario(path, before, now)
    later = {(one.limits, one.arm, one.name): one for one in now.series}
    both = [(one, later[key]) for one in before.series if (key := (one.limits, one.arm, one.name)) in later]
    if not both:
        raise _mismatch(path, "they have no arm and metric in common")
    slower = slowdown(before.speed, now.speed) if before.speed and now.speed else None
    level = ERROR_RATE / len(both)
    return Check(
        checked=tuple(Checked(one.limits, one.arm, _verdict(one, other, level, slower)) for one, other in both),
        slowdown=slower,
        missing=(
            *(
                f"{one.arm}, {one.limits} limits: {one.name}"
                for one in before.series
                if (one.limits, one.arm, one.name) not in later
            ),
            *(one for one in now.failed if one not in before.failed),
        ),
    )


def speed_dependence(unit: str) -> SpeedDependence:
    """Return how a metric of a unit depends on the machine's speed."""
    if unit in {"s", "ms"}:
        return "time"
    return "rate" if unit.endswith("/s") else "none"


def _same_scenario(path: Path, before: Baseline, now: Baseline) -> None:
    if before.scenario_id != now.scenario_id:
        what = f"it is of {before.scenario_id}, not of {now.scenario_id}"
        raise _mismatch(path, what)
    if before.scenario_sha256 != now.scenario_sha256:
        raise _mismatch(path, "the scenario's file has changed since")
    if dict(before.parameters) != dict(now.parameters):
        raise _mismatch(path, "the scenario's parameters are others")
    if before.warm_up != now.warm_up:
        what = f"{before.warm_up} pods for warming up, now {now.warm_up}"
        raise _mismatch(path, what)
    for kind, arms in before.client_limits.items():
        there = now.client_limits.get(kind, {})
        for arm in arms.keys() & there.keys():
            if tuple(arms[arm]) != tuple(there[arm]):
                what = f"{arm} had other client limits ({kind})"
                raise _mismatch(path, what)


def _mismatch(path: Path, what: str) -> InputError:
    return InputError(
        f"{path} cannot be held against this comparison: {what}; save a new baseline from a comparison of this scenario"
    )


def _verdict(before: Series, now: Series, level: float, slower: Slowdown | None) -> Verdict:
    found, how = change(before, now, level), speed_dependence(now.unit)
    apart = how != "none" and slower is not None and _too_far(slower)
    scale: Scale = found.scale if found else "ratio"
    ends: Ends | None = None
    if found is not None:
        least, whole, most = _expected(found, how, slower)
        ends = (found.mean - whole, found.mean - found.half_width - most, found.mean + found.half_width - least)
    estimate, low, high = on_scale(scale, ends)
    return Verdict(
        name=now.name,
        unit=now.unit,
        better=now.better,
        outcome="not judged" if apart else outcome_of(now.better, ends),
        baseline=fmean(before.values),
        arm=fmean(now.values),
        scale=scale,
        estimate=estimate,
        low=low,
        high=high,
        confidence=1 - level,
        rounds=min(len(before.values), len(now.values)),
        headline=True,
        reason=_reason(found, how, slower),
    )


def _too_far(slower: Slowdown) -> bool:
    # The rates themselves are good to some hundredths.
    return abs(log(slower.factor)) > log(FARTHEST) + SURE_SPREADS * slower.log_spread


def _expected(found: Change, how: SpeedDependence, slower: Slowdown | None) -> tuple[float, float, float]:
    """Return what the machine accounts for: at least, if all is its, and at most."""
    if slower is None or how == "none" or found.scale != "ratio":
        return 0.0, 0.0, 0.0
    whole = log(slower.factor) if how == "time" else -log(slower.factor)
    reach = SURE_SPREADS * slower.log_spread
    return min(0.0, whole - reach), whole, max(0.0, whole + reach)


def _reason(found: Change | None, how: SpeedDependence, slower: Slowdown | None) -> str:
    if found is None:
        return "fewer than two rounds on a side show no spread"
    if how == "none":
        return "does not depend on the machine's speed"
    if slower is None:
        return "not scaled: the speed of a machine is not known"
    if _too_far(slower):
        return "the machines differ too much for times to be judged"
    if found.scale != "ratio":
        return "not scaled: a value is zero"
    return "holds whether none or all of it is the machine's speed"
