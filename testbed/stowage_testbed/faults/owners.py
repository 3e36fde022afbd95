"""Faults of the workloads themselves: their owners change, replacements are barred."""

from __future__ import annotations

from functools import partial

from stowage_testbed.faults.context import FaultContext

QUOTA = "fault"


def change_owner(context: FaultContext) -> None:
    """Scale a ReplicaSet of which the plan moves a pod, or delete it."""
    owner, namespace = context.moved_owner(), context.namespace
    way = context.way("fewer", "more", "none", "gone")
    if way == "gone":
        context.objects.delete("ReplicaSet", owner, namespace=namespace)
        return
    asked = context.run.observer.read(
        lambda state: {
            body["metadata"]["name"]: int(body["spec"]["replicas"])
            for body in state.bodies("ReplicaSet", namespace)
        }
    )[owner]
    replicas = {"fewer": asked - 1, "more": asked + 1, "none": 0}[way]
    context.objects.patch(
        "ReplicaSet", owner, {"spec": {"replicas": replicas}}, namespace=namespace
    )


def limit_pods(context: FaultContext) -> None:
    """Let a quota bar every replacement until the fault ends."""
    context.objects.create(
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": QUOTA, "namespace": context.namespace},
            "spec": {"hard": {"pods": "1"}},
        }
    )
    remove = partial(context.objects.delete, "ResourceQuota", QUOTA)
    context.on_end(partial(remove, namespace=context.namespace))
