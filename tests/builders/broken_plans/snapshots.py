"""Snapshots that contradict themselves."""

from __future__ import annotations

from broken_plans.context import Mutations, PlanContext


def _snapshot_names_a_class_twice(context: PlanContext) -> None:
    context.snapshot.pod_classes[1].id = context.snapshot.pod_classes[0].id


def _snapshot_names_a_pod_twice(context: PlanContext) -> None:
    context.snapshot.pods.append(context.snapshot.pods[0])


def _snapshot_lacks_a_class(context: PlanContext) -> None:
    context.snapshot.pods[1].class_id = "nobody"


def _snapshot_lacks_a_node(context: PlanContext) -> None:
    context.snapshot.reservations.add(name="held", node="nowhere")


SNAPSHOTS: Mutations = {
    "snapshot": (
        _snapshot_names_a_class_twice,
        _snapshot_names_a_pod_twice,
        _snapshot_lacks_a_class,
        _snapshot_lacks_a_node,
    ),
}
