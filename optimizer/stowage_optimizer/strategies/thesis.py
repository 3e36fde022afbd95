"""`cpsat-items`, `cpsat-items-symmetry`: the thesis's program on OR-Tools.

"Scheduling Optimization in Kubernetes" (Canova), chapter 4: integer variables for each
pod and node, with and without its rows for equal pods and equal nodes.
"""

from __future__ import annotations

from stowage_optimizer.model.options import Clock
from stowage_optimizer.strategies.linear.cpsat import CpSat
from stowage_optimizer.strategies.linear.doubted import Doubted
from stowage_optimizer.strategies.linear.items import ItemFormulation
from stowage_optimizer.strategies.linear.strategy import LinearStrategy
from stowage_optimizer.strategies.linear.symmetry import SymmetryFormulation
from stowage_optimizer.strategies.strategy import Strategy

FLAW = "the thesis's rows for equal pods and nodes cut off answers"


def cpsat_items() -> Strategy:
    """Return the strategy without the rows."""
    return LinearStrategy(ItemFormulation, CpSat)


def cpsat_items_symmetry() -> Strategy:
    """Return the strategy with the rows."""
    return LinearStrategy(SymmetryFormulation, _doubted)


def _doubted(clock: Clock) -> Doubted:
    return Doubted(CpSat(clock), FLAW)
