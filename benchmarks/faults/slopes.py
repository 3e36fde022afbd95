"""How fast something grows, with an interval.

Processes that are killed start again, so each life has a level of its own and all of
them share one slope, also over several pieces of a soak. Memory is a saw: each minute
counts once, by its median.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from statistics import fmean, median

from scipy import stats

CONFIDENCE = 0.95
PART_S = 60.0
"""One is long enough for many collections of garbage."""

WARM_UP_S = 900.0
"""What a life is left to fill its caches and pools: the optimiser's memory climbs for a
quarter of an hour after a start, and stays flat then (300 nodes, two cores)."""

LEAST_FREEDOM = 1.0
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


def slope_of(
    pieces: Iterable[Iterable[Point]], warm_up_s: float = WARM_UP_S
) -> Slope | None:
    """Return the common slope of all lives; None where there is too little to tell.

    Notes
    -----
    What is left beside the slope is not independent from minute to minute: an allocator
    keeps what it has once taken. The interval is that of as many independent values as
    its autocorrelation leaves (Santer et al. 2000, section 4).
    """
    lives = [
        centred
        for points in pieces
        for life in _lives(points)
        if (centred := _centred(life, warm_up_s))
    ]
    pairs = [pair for life in lives for pair in life]
    spread = sum(x * x for x, _ in pairs)
    if not spread:
        return None
    slope = sum(x * y for x, y in pairs) / spread
    rests = [[y - slope * x for x, y in life] for life in lives]
    if len(pairs) - len(lives) - 1 < LEAST_FREEDOM:
        return None
    freedom = max(_independent(rests) - len(lives) - 1, LEAST_FREEDOM)
    margin = float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom))
    margin *= sqrt(sum(e * e for rest in rests for e in rest) / freedom / spread)
    hourly = slope * S_AN_HOUR
    low, high = (slope - margin) * S_AN_HOUR, (slope + margin) * S_AN_HOUR
    return Slope(hourly, low, high, len(pairs))


def _lives(points: Iterable[Point]) -> list[list[Point]]:
    lives: defaultdict[int, list[Point]] = defaultdict(list)
    for point in points:
        lives[point.life].append(point)
    return list(lives.values())


def _centred(life: Sequence[Point], warm_up_s: float) -> list[tuple[float, float]]:
    """Return time and value of a warm life's parts, less their means."""
    born_s = min(point.at_s for point in life)
    parts: defaultdict[int, list[Point]] = defaultdict(list)
    for point in life:
        if point.at_s - born_s >= warm_up_s:
            parts[int(point.at_s / PART_S)].append(point)
    pairs = [
        (fmean(p.at_s for p in part), median(p.value for p in part))
        for _, part in sorted(parts.items())
    ]
    if not pairs:
        return []
    middle, level = fmean(x for x, _ in pairs), fmean(y for _, y in pairs)
    return [(x - middle, y - level) for x, y in pairs]


def _independent(rests: Sequence[Sequence[float]]) -> float:
    """Return how many independent values are worth as much as all of these."""
    count = sum(map(len, rests))
    squares = sum(e * e for rest in rests for e in rest)
    beside = sum(a * b for rest in rests for a, b in pairwise(rest))
    correlation = max(0.0, beside / squares) if squares else 0.0
    return count * (1 - correlation) / (1 + correlation)
