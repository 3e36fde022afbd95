"""Faults by other pods: rivals for the room that a plan frees, and churn."""

from __future__ import annotations

import threading

from stowage_testbed.faults.context import FaultContext
from stowage_testbed.run.errors import ApiRefusedError
from stowage_testbed.scenario.manifests import priority_class_manifest
from stowage_testbed.scenario.model import Workload

HIGHER = 10
FASTEST_PER_S = 50
CHURN_RATE = "churn, changes a second"
"""The fact that says how fast pods came and went."""


def compete(context: FaultContext) -> None:
    """Create rivals for the room that a plan frees, of equal or of higher priority."""
    priority = {"equal": 0, "higher": HIGHER}[context.way("equal", "higher")]
    if priority:
        context.objects.create(priority_class_manifest(priority), or_keep=True)
    context.apply(
        Workload("rival", 2, cpu_milli=100, memory_bytes=2 * 10**9, priority=priority)
    )


def churn(context: FaultContext) -> None:
    """Create and delete small pods, at a random rate, until the fault ends."""
    rate_per_s = context.rng.randint(1, FASTEST_PER_S)
    context.facts[CHURN_RATE] = rate_per_s
    over = threading.Event()
    thread = threading.Thread(
        target=_come_and_go, args=(context, rate_per_s, over), name="churn", daemon=True
    )

    def end() -> None:
        over.set()
        thread.join()

    context.on_end(end)
    thread.start()


def _come_and_go(context: FaultContext, rate_per_s: int, over: threading.Event) -> None:
    """Create pods and delete them in turn, and leave none."""
    number, there = 0, list[str]()
    while not over.wait(1 / rate_per_s):
        if len(there) > number % 3:
            _delete(context, there.pop(0))
        else:
            number += 1
            name = f"churn-{number}"
            if _create(context, name):
                there.append(name)
    for name in there:
        _delete(context, name)


def _create(context: FaultContext, name: str) -> bool:
    """Create a small pod without an owner; return whether it was admitted."""
    requests = {"cpu": "1m", "memory": "1M"}
    container = {"name": "c", "image": "pause", "resources": {"requests": requests}}
    spec = {"terminationGracePeriodSeconds": 0, "containers": [container]}
    metadata = {"name": name, "namespace": context.namespace}
    try:
        context.objects.create(
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        )
    except ApiRefusedError:
        return False
    return True


def _delete(context: FaultContext, name: str) -> None:
    context.objects.delete("Pod", name, namespace=context.namespace, at_once=True)
