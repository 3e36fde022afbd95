"""A line of a plot, thinned to what can be seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MOST_POINTS = 400
"""More than this a plot of that width cannot show."""


@dataclass(frozen=True, slots=True)
class Line:
    """Steps: ``y[i]`` holds from ``x[i]`` until ``x[i + 1]``."""

    x: tuple[float, ...]
    y: tuple[float, ...]


def thinned(x: Sequence[float], y: Sequence[float], most: int = MOST_POINTS) -> Line:
    """Return at most ``most`` of the steps, first and last among them."""
    count = len(x)
    if count <= most:
        return Line(tuple(x), tuple(y))
    kept = [round(index * (count - 1) / (most - 1)) for index in range(most)]
    return Line(tuple(x[i] for i in kept), tuple(y[i] for i in kept))
