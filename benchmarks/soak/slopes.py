"""How fast something grows, with an interval.

Processes that are killed start again, so each life has a level of its own and all of
them share one slope. Memory is a saw: each part of the time counts once, by its median.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, median

from scipy import stats

CONFIDENCE = 0.95
PARTS = 40
"""Parts of the whole time; one is long enough for many collections of garbage."""

WARM_SHARE = 0.1
"""The share of the time that a life is left to fill its caches."""

S_AN_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Point:
    """A value at a second, of a life: a process's id, or 0 for what has one life."""

    at_s: float
    life: int
    value: float


@dataclass(frozen=True, slots=True)
class Slope:
    """Growth an hour with its interval, over so many parts of the time."""

    per_hour: float
    low: float
    high: float
    parts: int

    @property
    def is_none(self) -> bool:
        """Whether it cannot be distinguished from no growth."""
        return self.low <= 0.0 <= self.high


def slope_of(points: Iterable[Point], length_s: float) -> Slope | None:
    """Return the common slope of all lives; None where there is too little to tell.

    Parameters
    ----------
    points
        In any order.
    length_s
        Of the whole run.
    """
    lives: defaultdict[int, list[Point]] = defaultdict(list)
    for point in points:
        lives[point.life].append(point)
    centred = [pair for life in lives.values() for pair in _centred(life, length_s)]
    freedom = len(centred) - len(lives) - 1
    spread = sum(x * x for x, _ in centred)
    if freedom < 1 or not spread:
        return None
    slope = sum(x * y for x, y in centred) / spread
    rest = sum((y - slope * x) ** 2 for x, y in centred)
    margin = float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom))
    margin *= sqrt(rest / freedom / spread)
    hourly = slope * S_AN_HOUR
    low, high = (slope - margin) * S_AN_HOUR, (slope + margin) * S_AN_HOUR
    return Slope(hourly, low, high, len(centred))


def _centred(life: Sequence[Point], length_s: float) -> list[tuple[float, float]]:
    """Return time and value of a life's parts, less their means."""
    born_s = min(point.at_s for point in life)
    parts: defaultdict[int, list[Point]] = defaultdict(list)
    for point in life:
        if point.at_s - born_s >= WARM_SHARE * length_s:
            parts[int(PARTS * point.at_s / length_s)].append(point)
    pairs = [
        (fmean(p.at_s for p in part), median(p.value for p in part))
        for part in parts.values()
    ]
    if not pairs:
        return []
    middle, level = fmean(x for x, _ in pairs), fmean(y for _, y in pairs)
    return [(x - middle, y - level) for x, y in pairs]
