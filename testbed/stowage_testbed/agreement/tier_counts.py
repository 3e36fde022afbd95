"""A plan's own counts, made true: what is left to verify are its steps."""

from __future__ import annotations

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.case import Case, Index
from stowage_optimizer.verify.worth import count_tiers


def recount_tiers(plan: pb.Plan, snapshot: pb.Snapshot, index: Index) -> None:
    """Write the tiers of ``plan`` anew, with nothing claimed that is not counted."""
    del plan.tiers[:]
    del plan.gain_by_moves[:]
    plan.ClearField("nodes_in_use")
    case = Case(snapshot, plan, pb.POLICY_STRICT, index=index)
    for priority, before, placed, disruption in count_tiers(case):
        plan.tiers.add(
            priority=priority,
            placed_before=before,
            placed=placed,
            upper_bound=len(snapshot.pods),
            disruption=disruption,
        )
    plan.optimal = not plan.tiers
