"""Percentiles that carry their n, and that refuse to be read from too few samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Percentile:
    """One percentile. ``value`` is None where ``reason`` says why there is none."""

    rank: float
    n: int
    value: float | None
    reason: str = ""

    def __str__(self) -> str:
        value = "none" if self.value is None else f"{self.value:g}"
        return f"p{self.rank:g} {value} (n={self.n})"


def percentile(samples: Sequence[float], rank: float) -> Percentile:
    """Return the nearest-rank percentile: the smallest sample that covers ``rank`` %.

    At least 100 / (100 - rank) samples are needed (100 for p99, 20 for p95, 1 for
    p0): with fewer, the percentile would be the maximum by another name.

    Raises
    ------
    ValueError
        ``rank`` is outside 0 to 100 (100 itself excluded).
    """
    if not 0 <= rank < 100:  # noqa: PLR2004 - a percentage
        raise ValueError(f"rank {rank:g} must lie from 0 up to, not including, 100")
    exact_rank = Fraction(str(rank))
    needed = math.ceil(100 / (100 - exact_rank))
    n = len(samples)
    if n < needed:
        return Percentile(rank, n, None, f"p{rank:g} needs n >= {needed}, got {n}")
    index = max(math.ceil(exact_rank / 100 * n), 1) - 1
    return Percentile(rank, n, sorted(samples)[index])
