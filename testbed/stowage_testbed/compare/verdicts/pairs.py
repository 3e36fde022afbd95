"""One metric of two arms, round by round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
import numpy.typing as npt

from stowage_testbed.compare.verdicts.verdict import MeasuredRun, Scale
from stowage_testbed.metrics.metric import Metric

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pairs:
    """The rounds in which both arms have a value.

    Attributes
    ----------
    metric
        One of the measured ones, for its name, unit and direction.
    resolution
        The coarsest of the runs.
    missing
        Why the other rounds have no value.
    arm_lacks_more
        Whether more values are missing of the arm than of the baseline.
    """

    metric: Metric
    baseline: tuple[float, ...]
    arm: tuple[float, ...]
    resolution: float
    missing: str
    arm_lacks_more: bool = False

    @property
    def scale(self) -> Scale:
        """Ratios need values above zero; arms that swap places keep the scale."""
        above_zero = all(value > 0 for value in (*self.baseline, *self.arm))
        return "ratio" if above_zero else "difference"

    @property
    def changes(self) -> Floats:
        """From baseline to arm, one a round: logarithms of ratios, or differences."""
        baseline, arm = np.asarray(self.baseline), np.asarray(self.arm)
        if self.scale == "ratio":
            return np.asarray(np.log(arm) - np.log(baseline), dtype=np.float64)
        return np.asarray(arm - baseline, dtype=np.float64)

    @property
    def rounding_variance(self) -> float:
        """What the resolution of two values adds to the variance of a change.

        A value that is one of a row of steps is off by up to half a step: a twelfth of
        the step's square. Where every round shows the same change and no resolution is
        known, that change is taken as the step, for it may be.
        """
        if not self.resolution:
            same = bool(self.changes.size) and float(np.ptp(self.changes)) == 0
            return float(self.changes[0]) ** 2 / 6 if same else 0.0
        if self.scale == "difference":
            return self.resolution**2 / 6
        steps = self.resolution / np.asarray((self.baseline, self.arm))
        return float((steps**2).sum(axis=0).mean()) / 12


def paired(baseline: Sequence[MeasuredRun], arm: Sequence[MeasuredRun]) -> tuple[Pairs, ...]:
    """Return the pairs of every metric that a run of either arm has.

    ``baseline[i]`` and ``arm[i]`` are of one round.
    """
    first = [{metric.name: metric for metric in run.metrics} for run in baseline]
    other = [{metric.name: metric for metric in run.metrics} for run in arm]
    names = dict.fromkeys(name for run in (*first, *other) for name in run)
    return tuple(_pairs(name, first, other) for name in names)


def _pairs(name: str, baseline: Sequence[Mapping[str, Metric]], arm: Sequence[Mapping[str, Metric]]) -> Pairs:
    found = [run[name] for run in (*baseline, *arm) if name in run]
    rounds = [(_value(one.get(name)), _value(other.get(name))) for one, other in zip(baseline, arm, strict=True)]
    whole = [(one, other) for one, other in rounds if None not in (one, other)]
    notes = dict.fromkeys(m.note for m in found if _value(m) is None and m.note)
    return Pairs(
        metric=found[0],
        baseline=tuple(float(one) for one, _ in whole if one is not None),
        arm=tuple(float(other) for _, other in whole if other is not None),
        resolution=max(metric.resolution for metric in found),
        missing="; ".join(notes),
        arm_lacks_more=sum(other is None for _, other in rounds) > sum(one is None for one, _ in rounds),
    )


def _value(metric: Metric | None) -> float | None:
    """Return a metric's value; what is not a number is no value."""
    if metric is None or metric.value is None or not isfinite(metric.value):
        return None
    return metric.value
