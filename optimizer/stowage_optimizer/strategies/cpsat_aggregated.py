"""`cpsat-aggregated`: Algorithm 1 on CP-SAT, replicas counted together."""

from __future__ import annotations

from stowage_optimizer.strategies.linear.counts import CountFormulation
from stowage_optimizer.strategies.linear.cpsat import CpSat
from stowage_optimizer.strategies.linear.strategy import LinearStrategy
from stowage_optimizer.strategies.strategy import Strategy


def cpsat_aggregated() -> Strategy:
    """Return the strategy."""
    return LinearStrategy(CountFormulation, CpSat)
