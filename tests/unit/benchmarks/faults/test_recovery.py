"""When a cluster counts as recovered."""

from __future__ import annotations

import pytest
from seen_states import Seen, fresh, placed, plan, refused, state_of

from benchmarks.faults.moment import recovered

OWNED = [{"kind": "ReplicaSet", "name": "rs", "uid": "rs", "controller": True}]
KEPT_OUT = "0/1 nodes are available: 1 the room that is free is reserved for others."


def owned(pod: Seen, why_refused: str = "") -> Seen:
    """Return a pod as one of the ReplicaSet's."""
    kind, body = pod
    body["metadata"]["ownerReferences"] = OWNED
    if why_refused:
        body["status"]["conditions"][0]["message"] = why_refused
    return kind, body


def release(*, ready: bool = True) -> Seen:
    kind, body = placed("stowage", "host")
    body["metadata"]["namespace"] = "system"
    conditions = [{"type": "Ready", "status": str(ready)}]
    return kind, {**body, "status": {"phase": "Running", "conditions": conditions}}


def replica_set(replicas: int) -> Seen:
    metadata = {"uid": "rs", "name": "rs", "namespace": "ns"}
    return "ReplicaSet", {"metadata": metadata, "spec": {"replicas": replicas}}


SETTLED = {
    "release": release(),
    "owner": replica_set(2),
    "one": owned(placed("one")),
    "two": owned(placed("two")),
    "plan": plan("p", "Completed"),
}


def holds(**changes: Seen | None) -> bool:
    """Look at a settled cluster with some of its objects changed, or taken away."""
    objects = [one for one in {**SETTLED, **changes}.values() if one is not None]
    return recovered("ns", "system")(state_of(*objects)).holds


def test_a_settled_cluster_has_recovered() -> None:
    """All pods are placed, and no plan lives."""
    assert holds()
    assert holds(plan=None)
    assert holds(
        two=owned(refused("two"), KEPT_OUT),
        room=("Reservation", {"metadata": {"uid": "r", "name": "r"}}),
    )


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("two", owned(fresh("two"))),
        ("owner", replica_set(3)),
        ("plan", plan("p", "Executing")),
        ("release", release(ready=False)),
        ("two", owned(refused("two"), KEPT_OUT)),
        ("bare", fresh("bare")),
    ],
)
def test_something_is_still_to_come(name: str, seen: Seen) -> None:
    """A pod that is undecided or missing, a plan that lives, a restart, held room."""
    assert not holds(**{name: seen})


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
    given_up = plan("p", phase, optimal=optimal)

    assert holds(two=owned(refused("two")), plan=given_up) is proved
