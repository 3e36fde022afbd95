"""Plans that speak of other pods and nodes than the snapshot."""

from __future__ import annotations

from broken_plans.scene import Mutations, Scene


def _other_snapshot(scene: Scene) -> None:
    scene.plan.snapshot_id = "snapshot-0"


def _named_twice(scene: Scene) -> None:
    scene.plan.placements.add(pod_uid="pod-3", node="node-1")


def _unknown_pod(scene: Scene) -> None:
    scene.plan.placements[0].pod_uid = "ghost"


def _unknown_node(scene: Scene) -> None:
    scene.plan.placements[0].node = "nowhere"


def _places_a_running_pod(scene: Scene) -> None:
    (move,) = scene.plan.moves
    scene.plan.placements.add(pod_uid=move.pod_uid, node=move.to_node)
    del scene.plan.moves[:]


def _moves_to_its_own_node(scene: Scene) -> None:
    scene.plan.moves[0].from_node = scene.plan.moves[0].to_node


def _comes_from_elsewhere(scene: Scene) -> None:
    scene.snapshot.nodes.add(name="node-3")
    scene.plan.moves[0].from_node = "node-3"


NAMES: Mutations = {
    "snapshot-id": (_other_snapshot,),
    "duplicate": (_named_twice,),
    "unknown-pod": (_unknown_pod,),
    "unknown-node": (_unknown_node,),
    "origin": (_places_a_running_pod, _moves_to_its_own_node, _comes_from_elsewhere),
}
