"""`milp`: Algorithm 1 as mixed-integer programs on HiGHS, replicas counted together."""

from __future__ import annotations

from optimizer.strategies.linear.counts import CountFormulation
from optimizer.strategies.linear.highs import Highs
from optimizer.strategies.linear.strategy import LinearStrategy
from optimizer.strategies.strategy import Strategy


def milp() -> Strategy:
    """Return the strategy."""
    return LinearStrategy(CountFormulation, Highs)
