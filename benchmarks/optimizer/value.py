"""What a plan is worth, tier by tier, from the snapshot and the plan alone."""

from __future__ import annotations

from collections import Counter

from stowage_optimizer.contract import optimizer_pb2 as pb

TierValue = tuple[int, int, int]
"""Minus the evictions of exactly this priority, placed, minus the disruption."""

Value = tuple[TierValue, ...]
"""One entry a tier, highest first; compared lexicographically, larger is better."""


def value_of(snapshot: pb.Snapshot, plan: pb.Plan, policy: str) -> Value:
    """Return the value of a verified ``plan``.

    Parameters
    ----------
    snapshot, plan
        The checker has found the plan's own numbers true.
    policy
        Under ``strict`` keeping the running pods of a priority comes before placing
        pending pods of it; under ``paper`` the first number is 0 throughout.
    """
    priorities = {one.id: one.priority for one in snapshot.pod_classes}
    by_uid = {pod.uid: priorities[pod.class_id] for pod in snapshot.pods}
    evicted = Counter(by_uid[one.pod_uid] for one in plan.evictions)
    strict = policy == "strict"
    return tuple(
        (-evicted[tier.priority] if strict else 0, tier.placed, -tier.disruption)
        for tier in plan.tiers
    )
