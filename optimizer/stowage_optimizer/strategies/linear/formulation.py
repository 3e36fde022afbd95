"""What the loop over the tiers needs of a formulation."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.strategies.linear.program import LinearProgram, Terms, Values


class Phase(Enum):
    """What is maximised, one after the other, in each tier."""

    KEEP = "keep"
    PLACE = "place"
    DISRUPT = "disrupt"


STAY = 3
"""Weight of a running pod that stays, in the phase `DISRUPT` (Algorithm 1, line 13)."""

ARRIVAL = 1
"""Weight of a running pod that moves; one that is evicted weighs nothing."""


class Formulation(Protocol):
    """The packing problem of the highest tiers as an integer program."""

    program: LinearProgram

    def metric(self, phase: Phase, tier: int) -> Terms:
        """Return what ``phase`` of ``tier`` maximises.

        `KEEP` counts the running pods of exactly this tier that have a node, `PLACE`
        all pods of this tier and above that have one, and `DISRUPT` weighs the running
        pods of this tier and above.
        """
        ...

    def values(self, assignment: Assignment) -> Values:
        """Return ``assignment`` as values of the variables, to start from."""
        ...

    def read(self, values: Values, otherwise: Assignment) -> Assignment:
        """Return the assignment that ``values`` stand for.

        Pods below the tiers of the program keep their node of ``otherwise``.
        """
        ...


class Formulate(Protocol):
    """Makes the formulation of the first ``tiers`` tiers."""

    def __call__(self, packing: Packing, tiers: int) -> Formulation:
        """Return it."""
        ...

    def variables(self, packing: Packing, tiers: int) -> int:
        """Return about how many variables it will have, without making it."""
        ...
