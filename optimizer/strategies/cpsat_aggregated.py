"""`cpsat-aggregated`: Algorithm 1 on CP-SAT, replicas counted together."""

from __future__ import annotations

from optimizer.strategies.linear.counts import CountFormulation
from optimizer.strategies.linear.cpsat import CpSat
from optimizer.strategies.linear.strategy import LinearStrategy
from optimizer.strategies.strategy import Strategy


def cpsat_aggregated() -> Strategy:
    """Return the strategy."""
    return LinearStrategy(CountFormulation, CpSat)
