"""What was measured of one call: everything that the figures are made from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from stowage_optimizer.contract import optimizer_pb2 as pb

TierValue = tuple[int, int, int]
"""Minus the evictions of exactly this priority, placed, minus the disruption."""

Value = tuple[TierValue, ...]
"""One entry a tier, highest first; compared lexicographically, larger is better."""


def value_of(snapshot: pb.Snapshot, plan: pb.Plan, *, strict: bool) -> Value:
    """Return the value of a verified ``plan``."""
    priorities = {one.id: one.priority for one in snapshot.pod_classes}
    by_uid = {pod.uid: priorities[pod.class_id] for pod in snapshot.pods}
    evicted = Counter(by_uid[one.pod_uid] for one in plan.evictions)
    return tuple(
        (-evicted[tier.priority] if strict else 0, tier.placed, -tier.disruption)
        for tier in plan.tiers
    )


@dataclass(frozen=True, slots=True)
class TierClaim:
    """What the plan says that it proved of one tier."""

    placed_before: int
    placed: int
    upper_bound: int
    optimal: bool
    disruption: int
    disruption_lower_bound: int


@dataclass(frozen=True, slots=True)
class Record:
    """One call.

    Parameters
    ----------
    case, arm
        The instance, and the arm that solved it with which limit.
    optimal
        Whether every tier is proved.
    value, tiers
        What the plan is worth and what it claims, highest tier first.
    refused
        Subjects that the strategy left alone.
    wall_s
        From the call to the last update, by the caller's clock.
    first_plan_s
        To the first update with a plan, by the caller's clock; None if there was none.
    solve_s
        As the service accounts for it.
    peak_bytes
        Memory of the service and its children together; None if not asked for.
    nodes_before, nodes_after, nodes_lower_bound
        Nodes in use, and the limit on those after; of the objective CONSOLIDATE only.
    price_before_micros, price_after_micros, price_lower_bound_micros
        What an hour of them costs, if they have prices.
    """

    case: str
    arm: str
    optimal: bool
    value: Value
    tiers: tuple[TierClaim, ...]
    refused: tuple[str, ...]
    wall_s: float
    first_plan_s: float | None
    solve_s: float
    peak_bytes: int | None = None
    nodes_before: int = 0
    nodes_after: int = 0
    nodes_lower_bound: int = 0
    price_before_micros: int = 0
    price_after_micros: int = 0
    price_lower_bound_micros: int = 0
