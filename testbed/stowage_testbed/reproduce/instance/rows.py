"""What is known of one attempt to improve on an instance.

Pods and nodes are numbers: a pod its place in the order of arrival, a node its place in
the order of names. `PENDING` stands for the node of a pod that has none.
"""

from __future__ import annotations

from dataclasses import dataclass

PENDING = -1

Where = tuple[int, ...]
"""The node of each pod."""


@dataclass(frozen=True, slots=True)
class TierRow:
    """What a plan claims of one tier; see the contract's TierResult."""

    priority: int
    placed_before: int
    placed: int
    upper_bound: int
    optimal: bool
    disruption: int
    disruption_lower_bound: int


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One strategy on one instance, from where a heuristic left the pods.

    Attributes
    ----------
    case
        The instance's.
    strategy, limit_s, cores
        The solver, its limit in seconds and its number of threads.
    end_reason, message
        As the optimiser said them.
    optimal
        Whether it proved that no plan places more, and none as many with less
        disruption.
    plan
        Where the pods are when the plan is carried out.
    moves, evictions
        Of the plan.
    wall_s, solve_s
        From the call to its last answer; and the solve alone.
    """

    case: str
    strategy: str
    limit_s: float
    cores: int
    end_reason: str
    message: str
    optimal: bool
    plan: Where
    moves: int
    evictions: int
    tiers: tuple[TierRow, ...]
    wall_s: float
    solve_s: float
