"""Plans for small snapshots, and whether they can be carried out."""

from __future__ import annotations

from brute_force import Where

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify import verify_plan


def feasible(snapshot: pb.Snapshot, where: Where) -> bool:
    """Return whether the checker finds an order in which ``where`` can be reached."""
    plan = pb.Plan(snapshot_id=snapshot.id)
    for pod in snapshot.pods:
        node = where[pod.uid]
        if node == pod.node:
            continue
        if not pod.node:
            plan.placements.add(pod_uid=pod.uid, node=node)
        elif node:
            plan.moves.add(pod_uid=pod.uid, from_node=pod.node, to_node=node)
        else:
            plan.evictions.add(pod_uid=pod.uid, node=pod.node)
    broken = {one.rule for one in verify_plan(snapshot, plan, pb.POLICY_PAPER)}
    return not broken - {"worth", "tiers", "bounds"}
