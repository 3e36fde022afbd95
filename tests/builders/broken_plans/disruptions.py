"""Plans that disturb pods whom they must leave alone, or too many."""

from __future__ import annotations

from snapshot_builder import GB

from broken_plans.scene import Mutations, Scene, disturbs
from stowage_optimizer.contract import optimizer_pb2 as pb


def _immovable(scene: Scene) -> None:
    for pod in scene.snapshot.pods:
        pod.movable = False


def _budget_is_spent(scene: Scene) -> None:
    scene.snapshot.disruption_budgets.add(
        namespace="default", name="budget", selector=pb.LabelSelector()
    )


def _budget_allows_fewer(scene: Scene) -> None:
    scene.snapshot.pod_classes.add(id="class-pod-4", namespace="default")
    scene.snapshot.pods.add(
        uid="pod-4", class_id="class-pod-4", node="node-1", movable=True
    )
    scene.plan.moves.add(pod_uid="pod-4", from_node="node-1", to_node="node-2")
    (tier,) = scene.plan.tiers
    tier.placed_before += 1
    tier.placed = tier.upper_bound = 4
    disturbs(scene, 4)
    scene.snapshot.disruption_budgets.add(
        namespace="default",
        name="budget",
        selector=pb.LabelSelector(),
        disruptions_allowed=1,
    )


def _two_budgets(scene: Scene) -> None:
    for name in ("one", "two"):
        scene.snapshot.disruption_budgets.add(
            namespace="default",
            name=name,
            selector=pb.LabelSelector(),
            disruptions_allowed=5,
        )


def _evicts_for_its_own_kind(scene: Scene) -> None:
    """Evict a pod, and place two of its own priority in its stead."""
    scene.snapshot.pods[0].node = scene.snapshot.pods[2].node = ""
    scene.snapshot.pods[1].node = "node-1"
    scene.snapshot.pod_classes[1].requests.memory_bytes = 4 * GB
    scene.snapshot.nodes[1].unschedulable = True
    scene.snapshot.pod_classes[2].requests.memory_bytes = 2 * GB
    del scene.plan.moves[:]
    scene.plan.placements.add(pod_uid="pod-1", node="node-1")
    scene.plan.evictions.add(pod_uid="pod-2", node="node-1")
    (tier,) = scene.plan.tiers
    tier.placed_before, tier.placed = 1, 2
    tier.optimal = scene.plan.optimal = False
    disturbs(scene, 3)


def _too_many_moves(scene: Scene) -> None:
    scene.asked.max_moves = 0


def _too_many_of_an_owner(scene: Scene) -> None:
    scene.snapshot.pod_classes[0].owner.uid = "owner"
    scene.asked.max_disruptions_per_owner = 0


def _moves_too_much_for_its_gain(scene: Scene) -> None:
    scene.asked.min_gain_per_move = 1.5


def _too_many_evictions(scene: Scene) -> None:
    _evicts_for_its_own_kind(scene)
    scene.policy = pb.POLICY_PAPER
    scene.asked.max_evictions = 0


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
