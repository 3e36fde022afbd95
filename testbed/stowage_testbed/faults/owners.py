"""Faults of the workloads themselves: their owners change, replacements are barred."""

from __future__ import annotations

from functools import partial

from stowage_testbed.faults.ground import Ground

QUOTA = "fault"


def change_owner(ground: Ground) -> None:
    """Scale a ReplicaSet of which the plan moves a pod, or delete it."""
    owner, namespace = ground.moved_owner(), ground.namespace
    way = ground.way("fewer", "more", "none", "gone")
    if way == "gone":
        ground.objects.delete("ReplicaSet", owner, namespace=namespace)
        return
    asked = ground.bench.observer.read(
        lambda state: {
            body["metadata"]["name"]: int(body["spec"]["replicas"])
            for body in state.bodies("ReplicaSet", namespace)
        }
    )[owner]
    replicas = {"fewer": asked - 1, "more": asked + 1, "none": 0}[way]
    ground.objects.patch(
        "ReplicaSet", owner, {"spec": {"replicas": replicas}}, namespace=namespace
    )


def limit_pods(ground: Ground) -> None:
    """Let a quota bar every replacement until the fault ends."""
    ground.objects.create(
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": QUOTA, "namespace": ground.namespace},
            "spec": {"hard": {"pods": "1"}},
        }
    )
    remove = partial(ground.objects.delete, "ResourceQuota", QUOTA)
    ground.mend_with(partial(remove, namespace=ground.namespace))
