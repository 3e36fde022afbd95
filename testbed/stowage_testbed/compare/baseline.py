"""An earlier comparison, saved as a small file, and a later one checked against it: `check`.

The two were not interleaved: rounds are no pairs (Welch's interval), and times are scaled by the machine's speed. A
verdict has to hold whether none or all of a time is the machine's. Beyond twice the speed, times get no verdict.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import log
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
import numpy as np
from scipy.special import stdtrit

from stowage_testbed.base.errors import InputError
from stowage_testbed.base.files import write_whole
from stowage_testbed.compare.comparison import Comparison
from stowage_testbed.compare.speed import Slowdown, Speed, slowdown
from stowage_testbed.compare.tables import show_change, show_value
from stowage_testbed.compare.verdicts import (
    ERROR_RATE,
    FEWEST_ROUNDS,
    Ends,
    Outcome,
    Scale,
    Verdict,
    on_scale,
    outcome_of,
)
from stowage_testbed.metrics.record import Better
from stowage_testbed.text.tables import Table

FORMAT = "stowage.dev/baseline/v1"

SURE_SPREADS = 2.0
"""Standard deviations of the machine's speed that a verdict has to hold over."""

FARTHEST = 2.0
"""How many times slower or faster a machine may be for verdicts on times."""


@dataclass(frozen=True, slots=True)
class Series:
    """One metric of one arm in all rounds."""

    limits: str
    arm: str
    name: str
    unit: str
    better: Better
    resolution: float
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The headline metrics of a comparison, and all that a later one must have in common with it."""

    format: str
    scenario_id: str
    scenario_sha256: str
    parameters: Mapping[str, Any]
    started: str
    source: Mapping[str, Any]
    speed: Speed | None
    series: tuple[Series, ...]
    warm_up: int = 0
    client_limits: Mapping[str, Mapping[str, tuple[float | None, int | None]]] = field(default_factory=dict)
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """A comparison against an earlier one; nothing is scaled where ``slowdown``, of this machine, is `None`.

    A verdict has the means before and now as measured, and the change that the machine does not account for.
    """

    checked: tuple[tuple[Series, Verdict], ...]
    slowdown: Slowdown | None
    missing: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing is worse, and nothing is missing."""
        return not self.missing and not any(verdict.outcome == "worse" for _, verdict in self.checked)


def baseline_of(comparison: Comparison) -> Baseline:
    """Return what is kept of a comparison."""
    source = comparison.environment.get("source")
    return Baseline(
        format=FORMAT,
        scenario_id=comparison.scenario.scenario_id,
        scenario_sha256=comparison.scenario.sha256,
        parameters=comparison.scenario.parameters,
        started=comparison.started,
        source=source if isinstance(source, Mapping) else {},
        speed=comparison.speed,
        series=tuple(
            Series(
                limits, arm, name, metrics[0].unit, metrics[0].better,
                max(metric.resolution for metric in metrics), comparison.values(limits, arm, name),
            )
            for limits in comparison.limits
            for arm in comparison.arm_names
            for name in comparison.question.headlines
            if (metrics := comparison.metrics(limits, arm, name))
        ),
        warm_up=comparison.warm_up,
        client_limits={
            kind: {arm.name: (arm.settings[kind].qps, arm.settings[kind].burst) for arm in comparison.arms}
            for kind in comparison.limits
        },
        failed=tuple(
            f"{run.arm}, {run.limits} limits: round {run.round_number} failed" for run in comparison.runs if run.error
        ),
    )  # fmt: skip


def save_baseline(baseline: Baseline, path: Path) -> None:
    """Write a baseline as JSON that a review can read."""
    write_whole(path, msgspec.json.format(msgspec.json.encode(baseline), indent=2))


def load_baseline(path: Path) -> Baseline:
    """Read a baseline; an `InputError` if the file is missing, or is none."""
    try:
        baseline = msgspec.json.decode(path.read_bytes(), type=Baseline)
        why = "" if baseline.format == FORMAT else f"format {baseline.format!r}, this reads {FORMAT!r}"
    except (OSError, msgspec.MsgspecError) as error:
        why = str(error)
    if why:
        raise InputError(f"{path} is no baseline: {why}; make one with `stowage compare --save FILE`")
    return baseline


def check(path: Path, before: Baseline, now: Baseline) -> Check:
    """Return the verdicts on every metric that both have; an `InputError` if they are of other conditions."""
    later = {(one.limits, one.arm, one.name): one for one in now.series}
    pairs = [(one, later.get((one.limits, one.arm, one.name))) for one in before.series]
    both = [(one, other) for one, other in pairs if other]
    differs = next(_list_differences(before, now), "" if both else "they have no arm and metric in common")
    if differs:
        raise InputError(
            f"{path} cannot be compared with these runs: {differs}; "
            "save a new baseline from a comparison of this scenario"
        )
    slower = slowdown(before.speed, now.speed)
    level = ERROR_RATE / len(both)
    lacking = (f"{one.arm}, {one.limits} limits: {one.name}" for one, other in pairs if not other)
    return Check(
        checked=tuple((other, _verdict(one, other, level, slower)) for one, other in both),
        slowdown=slower,
        missing=(*lacking, *(one for one in now.failed if one not in before.failed)),
    )


def _list_differences(before: Baseline, now: Baseline) -> Iterator[str]:
    if before.scenario_id != now.scenario_id:
        yield f"it is of {before.scenario_id}, not of {now.scenario_id}"
    if before.scenario_sha256 != now.scenario_sha256:
        yield "the scenario's file has changed since"
    if dict(before.parameters) != dict(now.parameters):
        yield "the scenario's parameters are others"
    if before.warm_up != now.warm_up:
        yield f"{before.warm_up} pods for warming up, now {now.warm_up}"
    for kind, arms in before.client_limits.items():
        for arm, limits in now.client_limits.get(kind, {}).items():
            if tuple(arms.get(arm, limits)) != tuple(limits):
                yield f"{arm} had other client limits ({kind})"


def welch_interval(before: Series, now: Series, level: float) -> tuple[Scale, float, float] | None:
    """Return scale, mean and half width of the change, missed with chance ``level``; `None` below two rounds a side."""
    if min(len(before.values), len(now.values)) < FEWEST_ROUNDS:
        return None
    scale: Scale = "ratio" if all(value > 0 for value in (*before.values, *now.values)) else "difference"
    means, variances, weighed = [], [], 0.0
    for one in (before, now):
        values = np.asarray(one.values, dtype=np.float64)
        step = one.resolution / values if scale == "ratio" else np.full_like(values, one.resolution)
        values = np.log(values) if scale == "ratio" else values
        means.append(float(values.mean()))
        variances.append(float(values.var(ddof=1) + (step**2).mean() / 12) / len(values))
        weighed += variances[-1] ** 2 / (len(values) - 1)
    total = sum(variances)
    # Welch's and Satterthwaite's degrees of freedom.
    reach = float(stdtrit(total**2 / weighed, 1 - level / 2)) if total else 0.0
    return scale, means[1] - means[0], reach * float(np.sqrt(total))


def _verdict(before: Series, now: Series, level: float, slower: Slowdown | None) -> Verdict:
    found = welch_interval(before, now, level)
    scale, mean, half_width = found or ("ratio", 0.0, 0.0)
    is_time, is_rate = now.unit in {"s", "ms"}, now.unit.endswith("/s")
    outcome: Outcome | None = None
    least = whole = most = 0.0
    if found is None:
        reason = "fewer than two rounds on a side show no spread"
    elif not is_time and not is_rate:
        reason = "does not depend on the machine's speed"
    elif slower is None:
        reason = "not scaled: the speed of a machine is not known"
    elif scale != "ratio":
        reason = "not scaled: a value is zero"
    else:
        reason = "holds whether none or all of it is the machine's speed"
        whole = log(slower.factor) if is_time else -log(slower.factor)
        reach = SURE_SPREADS * slower.log_spread
        least, most = min(0.0, whole - reach), max(0.0, whole + reach)
    # The rates themselves are good to some hundredths.
    too_far = slower is not None and abs(log(slower.factor)) > log(FARTHEST) + SURE_SPREADS * slower.log_spread
    if too_far and (is_time or is_rate):
        outcome = "not judged"
        reason = "the machines differ too much for times to be judged" if found else reason
    ends: Ends | None = (mean - whole, mean - half_width - most, mean + half_width - least) if found else None
    return Verdict(
        now.name,
        now.unit,
        now.better,
        outcome or outcome_of(now.better, ends),
        fmean(before.values),
        fmean(now.values),
        scale,
        *on_scale(scale, ends),
        confidence=1 - level,
        rounds=min(len(before.values), len(now.values)),
        headline=True,
        reason=reason,
    )


def check_table(found: Check) -> Table:
    """Return a line for each metric of each arm."""
    slower = found.slowdown
    note = "The speed of a machine is not known: nothing is scaled, and a verdict may be the machine's."
    if slower:
        factor = max(slower.factor, 1 / slower.factor)
        note = (
            f"This machine is {factor:.2f} times {'slower' if slower.factor >= 1 else 'faster'} than that of the "
            f"baseline ({', '.join(slower.works)}). Before and now are as measured; changes of times and rates are "
            "taken after scaling, and their intervals hold whether none or all of a time is the machine's."
            + (f" Beyond {FARTHEST:g} times, times and rates are not judged." if factor > FARTHEST else "")
        )
    return Table(
        title="Against the baseline",
        headers=("limits", "arm", "metric", "unit", "before", "now", "change [interval]", "verdict"),
        rows=tuple(
            (
                series.limits,
                series.arm,
                one.name,
                one.unit,
                *(show_value(value, one.unit) for value in (one.baseline, one.arm)),
                show_change(one) or one.reason,
                one.outcome,
            )
            for series, one in found.checked
        ),
        notes=(note, *(f"Not in this comparison: {one}." for one in found.missing)),
    )
