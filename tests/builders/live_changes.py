"""Changes of nodes, pods and plans, and watches that report them, for the live page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

from stowage_testbed.api_client import ApiRefusedError
from stowage_testbed.errors import StowageError
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.observe.source import Source

BEGAN_MS = 1_700_000_000_000


def a_change(
    kind: str, body: dict[str, Any], verb: str = "LISTED", at_ms: int = 0
) -> Change:
    """Return a change that was received so many milliseconds after the beginning."""
    wall_ns = (BEGAN_MS + at_ms) * 1_000_000
    return Change(kind, Verb(verb), Receipt(wall_ns, wall_ns), body)


def a_node(
    name: str,
    *,
    zone: str = "",
    cpu: str = "4",
    cordoned: bool = False,
    extended: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Return a node as the API gives it."""
    return {
        "metadata": {
            "uid": f"node-{name}",
            "name": name,
            "labels": {"topology.kubernetes.io/zone": zone} if zone else {},
        },
        "spec": {"unschedulable": True} if cordoned else {},
        "status": {
            "allocatable": {
                "cpu": cpu,
                "memory": "8Gi",
                "pods": "110",
                **(extended or {}),
            },
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def a_pod(
    name: str,
    *,
    node: str = "",
    workload: str = "web",
    priority: int = 0,
    cpu: str = "500m",
    said: str = "",
    phase: str = "Pending",
    leaving: bool = False,
    namespace: str = "shop",
) -> dict[str, Any]:
    """Return a pod of a Deployment as the API gives it."""
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": said,
    }
    metadata = {
        "uid": f"uid-{name}",
        "namespace": namespace,
        "name": name,
        "creationTimestamp": "2023-11-14T22:13:20Z",
        "labels": {"pod-template-hash": "5d4f"},
        "ownerReferences": [
            {"kind": "ReplicaSet", "name": f"{workload}-5d4f", "controller": True}
        ],
        **({"deletionTimestamp": "2023-11-14T22:13:20Z"} if leaving else {}),
    }
    return {
        "metadata": metadata,
        "spec": {
            "nodeName": node,
            "priority": priority,
            "containers": [{"resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}],
        },
        "status": {"phase": phase, "conditions": [condition] if said else []},
    }


def a_plan(name: str, phase: str, **status: Any) -> dict[str, Any]:
    """Return a PackingPlan as the API gives it."""
    return {
        "metadata": {
            "uid": f"plan-{name}",
            "name": name,
            "creationTimestamp": "2023-11-14T22:13:20Z",
        },
        "spec": {"executionMode": "DryRun", "trigger": "Manual"},
        "status": {"phase": phase, **status},
    }


class ScriptedWatches:
    """Watches that report what a test sends.

    Attributes
    ----------
    failure
        Why a watch broke off.
    watched
        Kinds that were asked for besides nodes and pods.
    has_plans
        Whether the cluster knows plans.
    """

    def __init__(self, *listed: Change) -> None:
        self._changes: SimpleQueue[Change] = SimpleQueue()
        self.failure: StowageError | None = None
        self.watched: list[str] = []
        self.has_plans = True
        self.send(*listed)

    def send(self, *changes: Change) -> None:
        """Report changes at the next look."""
        for change in changes:
            self._changes.put(change)

    @contextmanager
    def opened(self) -> Iterator[ScriptedWatches]:
        """Yield these watches, once more after a failure."""
        self.failure = None
        yield self

    def watch(self, source: Source) -> None:
        if not self.has_plans:
            raise ApiRefusedError(f"list {source.kind}", 404, "not found")
        self.watched.append(source.kind)

    def take_journal(self) -> list[Change]:
        return [self._changes.get() for _ in range(self._changes.qsize())]

    def free_disk(self) -> None:
        """Nothing is kept on disk."""
