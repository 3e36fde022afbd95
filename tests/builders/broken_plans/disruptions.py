"""Plans that disrupt pods that they must leave alone, or too many."""

from __future__ import annotations

from snapshot_builder import GB

from broken_plans.context import Mutations, PlanContext, set_disruption
from stowage_optimizer.contract import optimizer_pb2 as pb


def _immovable(context: PlanContext) -> None:
    for pod in context.snapshot.pods:
        pod.movable = False


def _budget_is_spent(context: PlanContext) -> None:
    context.snapshot.disruption_budgets.add(
        namespace="default", name="budget", selector=pb.LabelSelector()
    )


def _budget_allows_fewer(context: PlanContext) -> None:
    context.snapshot.pod_classes.add(id="class-pod-4", namespace="default")
    context.snapshot.pods.add(
        uid="pod-4", class_id="class-pod-4", node="node-1", movable=True
    )
    context.plan.moves.add(pod_uid="pod-4", from_node="node-1", to_node="node-2")
    (tier,) = context.plan.tiers
    tier.placed_before += 1
    tier.placed = tier.upper_bound = 4
    set_disruption(context, 4)
    context.snapshot.disruption_budgets.add(
        namespace="default",
        name="budget",
        selector=pb.LabelSelector(),
        disruptions_allowed=1,
    )


def _two_budgets(context: PlanContext) -> None:
    for name in ("one", "two"):
        context.snapshot.disruption_budgets.add(
            namespace="default",
            name=name,
            selector=pb.LabelSelector(),
            disruptions_allowed=5,
        )


def _evicts_for_its_own_kind(context: PlanContext) -> None:
    """Evict a pod, and place two of its own priority in its stead."""
    context.snapshot.pods[0].node = context.snapshot.pods[2].node = ""
    context.snapshot.pods[1].node = "node-1"
    context.snapshot.pod_classes[1].requests.memory_bytes = 4 * GB
    context.snapshot.nodes[1].unschedulable = True
    context.snapshot.pod_classes[2].requests.memory_bytes = 2 * GB
    del context.plan.moves[:]
    context.plan.placements.add(pod_uid="pod-1", node="node-1")
    context.plan.evictions.add(pod_uid="pod-2", node="node-1")
    (tier,) = context.plan.tiers
    tier.placed_before, tier.placed = 1, 2
    tier.optimal = context.plan.optimal = False
    set_disruption(context, 3)


def _too_many_moves(context: PlanContext) -> None:
    context.asked.max_moves = 0


def _too_many_of_an_owner(context: PlanContext) -> None:
    context.snapshot.pod_classes[0].owner.uid = "owner"
    context.asked.max_disruptions_per_owner = 0


def _moves_too_much_for_its_gain(context: PlanContext) -> None:
    context.asked.min_gain_per_move = 1.5


def _too_many_evictions(context: PlanContext) -> None:
    _evicts_for_its_own_kind(context)
    context.policy = pb.POLICY_PAPER
    context.asked.max_evictions = 0


DISRUPTIONS: Mutations = {
    "immovable": (_immovable,),
    "disruption-budget": (_budget_is_spent, _budget_allows_fewer, _two_budgets),
    "policy": (_evicts_for_its_own_kind,),
    "limits": (
        _too_many_moves,
        _too_many_of_an_owner,
        _moves_too_much_for_its_gain,
        _too_many_evictions,
    ),
}
