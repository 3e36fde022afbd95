"""The phases of a tier: what a bound of one is asked for, and the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.objective import TierScore
from stowage_optimizer.model.problem import Ints, Problem

SCALE = 2**20
"""A price of one unit of the objective. Prices are whole numbers of its parts, so that
the bound computed from them is exact."""


Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Duals:
    """Prices before they are rounded; see `Prices`."""

    pod: Floats
    run: Floats
    requirement: Floats

    def towards(self, other: Duals, share: float) -> Duals:
        """Return the prices that lie ``share`` of the way towards ``other``."""
        return Duals(
            self.pod + share * (other.pod - self.pod),
            self.run + share * (other.run - self.run),
            self.requirement + share * (other.requirement - self.requirement),
        )


@dataclass(frozen=True, slots=True)
class Prices:
    """Multipliers of the constraints that tie the nodes together; none is negative.

    Parameters
    ----------
    pod
        Price of a pod by kind in scope, of the constraint "no more pods than there are",
        shape ``(kinds,)``.
    run
        Price by kind of the constraint "no more running pods than pods have a node",
        shape ``(kinds,)``.
    requirement
        Price of each requirement of the scope, shape ``(requirements,)``.
    """

    pod: Ints
    run: Ints
    requirement: Ints


@dataclass(frozen=True, slots=True)
class Bound:
    """A proved bound on one phase of one tier.

    Parameters
    ----------
    value
        In the numbers of `TierBounds`: no assignment in question keeps or places
        more (`KEEP`, `PLACE`), or disrupts less (`DISRUPT`).
    """

    value: int
    method: ProofMethod
    prices: Prices | None = None


class Phase(Enum):
    """The phases of a tier, in the order in which they are settled."""

    KEEP = 0
    """How many running pods of exactly this tier keep a node; `STRICT` only."""
    PLACE = 1
    """How many pods of this tier and above have a node."""
    DISRUPT = 2
    """How little the running pods of this tier and above are disrupted."""


@dataclass(frozen=True, slots=True)
class Question:
    """Asks how good ``phase`` of ``tier`` can be.

    Parameters
    ----------
    tier
        Index of the tier, 0 the highest.
    phase
        The phase.
    reached
        Scores of the tiers above and of this one, shape ``(tier + 1,)`` or longer. The
        answer holds for every feasible assignment that is at least as good in each
        number of the tiers above, and in the earlier phases of this tier. Under the
        `PAPER` policy ``kept`` is 0 and requires nothing.
    """

    problem: Problem
    tier: int
    phase: Phase
    reached: Sequence[TierScore]
