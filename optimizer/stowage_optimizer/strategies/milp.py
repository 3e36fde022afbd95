"""`milp`: Algorithm 1 as mixed-integer programs on HiGHS, replicas counted together."""

from __future__ import annotations

from stowage_optimizer.strategies.linear.counts import CountFormulation
from stowage_optimizer.strategies.linear.highs import Highs
from stowage_optimizer.strategies.linear.strategy import LinearStrategy
from stowage_optimizer.strategies.strategy import Strategy


def milp() -> Strategy:
    """Return the strategy."""
    return LinearStrategy(CountFormulation, Highs)
