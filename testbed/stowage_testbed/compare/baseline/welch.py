"""Two unpaired groups of rounds: Welch's interval of the change between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from stowage_testbed.compare.baseline.document import Series
from stowage_testbed.compare.verdicts.pairs import Floats
from stowage_testbed.compare.verdicts.verdict import Scale


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
        half_width=_reach(parts, [len(first[0]), len(other[0])], level)
        * float(np.sqrt(total)),
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
    weighed = sum(
        part**2 / (count - 1) for part, count in zip(parts, counts, strict=True)
    )
    return float(stdtrit(total**2 / weighed, 1 - level / 2))
