"""Instances and what is known of one attempt to improve on one.

Pods and nodes are numbers: a pod its place in the order of arrival, a node its place in
the order of names. `PENDING` stands for the node of a pod that has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.simulation import NAMESPACE

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


def tier_worth(result: ResultRow, placed: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return what is maximised, tier by tier: pods placed, then undisrupted.

    Parameters
    ----------
    placed
        Pods that have a node by priority, the highest first.
    """
    tiers = sorted(result.tiers, key=lambda tier: -tier.priority)
    if not tiers:
        # No plan was published in time: nothing moves.
        return tuple((count, 0) for count in accumulate(placed))
    return tuple((tier.placed, -tier.disruption) for tier in tiers)


def numbered(scenario: Scenario, nodes: Mapping[str, str | None]) -> Where:
    """Return where the pods are, by their number, from where they are by name.

    Parameters
    ----------
    scenario
        Its pods are called ``<workload>-<number>``.
    nodes
        By ``namespace/name``.
    """
    (pool,) = scenario.nodes
    numbers: dict[str | None, int] = {
        name: number for number, name in enumerate(pool.node_names())
    }
    numbers[None] = PENDING
    return tuple(numbers[nodes[f"{NAMESPACE}/{name}"]] for name in pod_names(scenario))


def pod_names(scenario: Scenario) -> list[str]:
    """Return the names of the pods in the order of arrival."""
    return [
        f"{one.name}-{number}"
        for one in scenario.workload
        for number in range(one.replicas)
    ]
