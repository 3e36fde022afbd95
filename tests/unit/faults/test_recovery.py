"""When a cluster counts as recovered."""

from __future__ import annotations

from typing import Any

import pytest
from watch_server import a_pod

from stowage_testbed.faults.moment import recovered
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.observe.state import State

READY = {"conditions": [{"type": "Ready", "status": "True"}], "phase": "Running"}
OWNED = [{"kind": "ReplicaSet", "name": "rs", "uid": "rs", "controller": True}]


def pod(name: str, node: str = "", *, refused: bool = False) -> dict[str, Any]:
    body = a_pod(name, node=node)
    body["metadata"]["ownerReferences"] = OWNED
    if refused:
        condition = {"type": "PodScheduled", "status": "False"}
        body["status"]["conditions"] = [{**condition, "reason": "Unschedulable"}]
    return body


def release(*, ready: bool = True) -> dict[str, Any]:
    body = a_pod("stowage", node="host")
    body["metadata"]["namespace"] = "system"
    return {**body, "status": READY if ready else {"phase": "Running"}}


def replica_set(replicas: int) -> dict[str, Any]:
    metadata = {"uid": "rs", "name": "rs", "namespace": "ns"}
    return {"metadata": metadata, "spec": {"replicas": replicas}}


def plan(phase: str, *, optimal: bool = True) -> dict[str, Any]:
    return {
        "metadata": {"uid": "p", "name": "p"},
        "status": {"phase": phase, "optimal": optimal},
    }


def kept_out(name: str) -> dict[str, Any]:
    body = pod(name, refused=True)
    text = "0/1 nodes are available: 1 the room that is free is reserved for others."
    body["status"]["conditions"][0]["message"] = text
    return body


SETTLED = {
    "release": ("Pod", release()),
    "owner": ("ReplicaSet", replica_set(2)),
    "one": ("Pod", pod("one", "n1")),
    "two": ("Pod", pod("two", "n1")),
    "plan": ("PackingPlan", plan("Completed")),
}


def holds(**changes: tuple[str, dict[str, Any]] | None) -> bool:
    """Look at a settled cluster with some of its objects changed, or taken away."""
    state = State()
    objects = [one for one in {**SETTLED, **changes}.values() if one is not None]
    for number, (kind, body) in enumerate(objects):
        state.apply(Change(kind, Verb.ADDED, Receipt(number, number), body))
    return recovered("ns", "system")(state).holds


def test_a_settled_cluster_has_recovered() -> None:
    """All pods are placed, and no plan lives."""
    assert holds()
    assert holds(plan=None)
    assert holds(
        two=("Pod", kept_out("two")),
        room=("Reservation", {"metadata": {"uid": "r", "name": "r"}}),
    )


@pytest.mark.parametrize(
    ("name", "kind", "body"),
    [
        ("two", "Pod", pod("two")),
        ("owner", "ReplicaSet", replica_set(3)),
        ("plan", "PackingPlan", plan("Executing")),
        ("release", "Pod", release(ready=False)),
        ("two", "Pod", kept_out("two")),
        ("bare", "Pod", {**a_pod("bare")}),
    ],
)
def test_something_is_still_to_come(name: str, kind: str, body: dict[str, Any]) -> None:
    """A pod that is undecided or missing, a plan that lives, a restart, held room."""
    assert not holds(**{name: (kind, body)})


@pytest.mark.parametrize(
    ("phase", "optimal", "proved"),
    [
        ("NoImprovement", False, True),
        ("Completed", True, True),
        ("Completed", False, False),
        ("Aborted", True, False),
    ],
)
def test_a_pod_without_a_node_needs_a_proof(
    phase: str, optimal: bool, proved: bool
) -> None:
    """A plan that was given up leaves it open whether the pod has to wait."""
    waiting = ("Pod", pod("two", refused=True))

    assert (
        holds(two=waiting, plan=("PackingPlan", plan(phase, optimal=optimal))) is proved
    )
