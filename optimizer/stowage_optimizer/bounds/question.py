"""What a limit is asked for: one phase of one tier, given what was reached before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from stowage_optimizer.model.objective import TierScore
from stowage_optimizer.search.problem import Problem


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
    problem
        The problem.
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
