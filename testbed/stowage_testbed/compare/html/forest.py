"""A verdict as a picture: the interval on a line, with "no change" in the middle."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from stowage_testbed.compare.verdicts.verdict import Verdict

WIDTH = 120
HEIGHT = 14
REACH = log(2)
"""Half of the picture: from half to twice the baseline; what goes beyond is cut."""


@dataclass(frozen=True, slots=True)
class Forest:
    """Where things lie on the picture, in its pixels.

    Attributes
    ----------
    cut_low, cut_high
        Whether the interval goes on beyond the picture.
    """

    low: float
    estimate: float
    high: float
    cut_low: bool
    cut_high: bool


def forest(verdict: Verdict) -> Forest | None:
    """Return the picture of a ratio, ``None`` where there is no interval of one."""
    if verdict.scale != "ratio" or verdict.low is None or verdict.high is None:
        return None
    if verdict.estimate is None:
        return None
    low, estimate, high = (
        _position(value) for value in (verdict.low, verdict.estimate, verdict.high)
    )
    return Forest(
        low=_inside(low),
        estimate=_inside(estimate),
        high=_inside(high),
        cut_low=low < 0,
        cut_high=high > WIDTH,
    )


def _position(ratio: float) -> float:
    if ratio <= 0:
        return -1.0
    return round(WIDTH / 2 * (1 + log(ratio) / REACH), 1)


def _inside(position: float) -> float:
    return min(max(position, 0.0), float(WIDTH))
