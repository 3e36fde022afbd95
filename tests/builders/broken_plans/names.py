"""Plans that speak of other pods and nodes than the snapshot."""

from __future__ import annotations

from broken_plans.context import Mutations, PlanContext


def _other_snapshot(context: PlanContext) -> None:
    context.plan.snapshot_id = "snapshot-0"


def _named_twice(context: PlanContext) -> None:
    context.plan.placements.add(pod_uid="pod-3", node="node-1")


def _unknown_pod(context: PlanContext) -> None:
    context.plan.placements[0].pod_uid = "ghost"


def _unknown_node(context: PlanContext) -> None:
    context.plan.placements[0].node = "nowhere"


def _places_a_running_pod(context: PlanContext) -> None:
    (move,) = context.plan.moves
    context.plan.placements.add(pod_uid=move.pod_uid, node=move.to_node)
    del context.plan.moves[:]


def _moves_to_its_own_node(context: PlanContext) -> None:
    context.plan.moves[0].from_node = context.plan.moves[0].to_node


def _comes_from_elsewhere(context: PlanContext) -> None:
    context.snapshot.nodes.add(name="node-3")
    context.plan.moves[0].from_node = "node-3"


NAMES: Mutations = {
    "snapshot-id": (_other_snapshot,),
    "duplicate": (_named_twice,),
    "unknown-pod": (_unknown_pod,),
    "unknown-node": (_unknown_node,),
    "origin": (_places_a_running_pod, _moves_to_its_own_node, _comes_from_elsewhere),
}
