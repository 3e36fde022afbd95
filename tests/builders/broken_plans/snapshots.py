"""Snapshots that contradict themselves."""

from __future__ import annotations

from broken_plans.scene import Mutations, Scene


def _snapshot_names_a_class_twice(scene: Scene) -> None:
    scene.snapshot.pod_classes[1].id = scene.snapshot.pod_classes[0].id


def _snapshot_names_a_pod_twice(scene: Scene) -> None:
    scene.snapshot.pods.append(scene.snapshot.pods[0])


def _snapshot_lacks_a_class(scene: Scene) -> None:
    scene.snapshot.pods[1].class_id = "nobody"


def _snapshot_lacks_a_node(scene: Scene) -> None:
    scene.snapshot.reservations.add(name="held", node="nowhere")


SNAPSHOTS: Mutations = {
    "snapshot": (
        _snapshot_names_a_class_twice,
        _snapshot_names_a_pod_twice,
        _snapshot_lacks_a_class,
        _snapshot_lacks_a_node,
    ),
}
