"""How unequal the loads of the nodes are: extremes, deviation, share of the fullest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean, pstdev


@dataclass(frozen=True, slots=True)
class Spread:
    """Summary of the loads of all nodes.

    Attributes
    ----------
    std
        Of the nodes as the whole population, not as a sample of one: there are no
        others.
    """

    minimum: int
    maximum: int
    mean: float
    std: float

    @property
    def cv(self) -> float | None:
        """The coefficient of variation; ``None`` where nothing is loaded."""
        return self.std / self.mean if self.mean else None


def spread(loads: Sequence[int]) -> Spread | None:
    """Return the summary of the loads; ``None`` without any node."""
    if not loads:
        return None
    return Spread(min(loads), max(loads), fmean(loads), pstdev(loads))


def top_share(loads: Sequence[int], count: int) -> Fraction | None:
    """Return what share of the load lies on the ``count`` fullest nodes.

    ``None`` where that is no finding: there are no more nodes, or there is no load.
    """
    if len(loads) <= count or not any(loads):
        return None
    return Fraction(sum(sorted(loads, reverse=True)[:count]), sum(loads))
