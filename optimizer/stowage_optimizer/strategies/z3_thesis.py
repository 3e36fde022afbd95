"""`z3`, `z3-symmetry`: the thesis's integer variables for each pod and node, on Z3.

The thesis's rows for equal pods and equal nodes are in the second only: they order pods
and nodes by their index, which cuts off the answer in which pods that run stay where
they are. The thesis's phase 2 counts moves and evictions equally. Under the `STRICT`
policy that asks for the same plans as our weights do, since the pods evicted of a tier
are settled before its moves; under `PAPER` the paper's weights hold, so that strategies
can be compared.
"""

from __future__ import annotations

from stowage_optimizer.model.options import Clock
from stowage_optimizer.strategies.linear.doubted import Doubted
from stowage_optimizer.strategies.linear.items import ItemFormulation
from stowage_optimizer.strategies.linear.strategy import LinearStrategy
from stowage_optimizer.strategies.linear.symmetry import SymmetryFormulation
from stowage_optimizer.strategies.linear.z3 import Z3
from stowage_optimizer.strategies.strategy import Strategy
from stowage_optimizer.strategies.thesis import FLAW


def z3_thesis() -> Strategy:
    """Return the strategy; needs the package ``z3-solver``."""
    return LinearStrategy(ItemFormulation, Z3)


def z3_symmetry() -> Strategy:
    """Return the strategy with the rows."""
    return LinearStrategy(SymmetryFormulation, _doubted)


def _doubted(clock: Clock) -> Doubted:
    return Doubted(Z3(clock), FLAW)
