"""States of a cluster as watches have seen them, from a few words."""

from typing import Any

from watch_server import a_pod

from stowage_testbed.observe.change import Change, Receipt, Verb
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.observe.state import State

Seen = tuple[str, dict[str, Any]]
"""A kind and an object of it."""


def state_of(*objects: Seen) -> State:
    """Return the state after these objects came, in this order."""
    state = State()
    for number, (kind, body) in enumerate(objects):
        state.apply(Change(kind, Verb.ADDED, Receipt(number, number), body))
    return state


def placed(name: str, node: str = "n1") -> Seen:
    """Return a pod that has a node."""
    return ("Pod", a_pod(name, node=node))


def fresh(name: str) -> Seen:
    """Return a pod that no scheduler has tried."""
    return ("Pod", a_pod(name))


def refused(name: str) -> Seen:
    """Return a pod that was found unschedulable."""
    body = a_pod(name)
    body["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes are available"}
    ]
    return ("Pod", body)


def leaving(name: str) -> Seen:
    """Return a pod that is terminating."""
    body = a_pod(name, node="n1")
    body["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return ("Pod", body)


def plan(name: str, phase: str, *, optimal: bool = True, execution_mode: str = "Execute", created: str = "") -> Seen:
    """Return a plan in a phase."""
    metadata = {"uid": f"uid-{name}", "name": name, "creationTimestamp": created}
    return (
        "PackingPlan",
        {
            "metadata": metadata,
            "spec": {"executionMode": execution_mode},
            "status": {"phase": phase, "optimal": optimal, "message": "so it is"},
        },
    )


def of_workload(workload: str, pod: Seen, **status: Any) -> Seen:
    """Return a pod as one of a workload, with these fields of its status."""
    kind, body = pod
    body["metadata"]["labels"] = {WORKLOAD_LABEL: workload}
    body["status"] |= status
    return kind, body


def of_gang(group: str, pod: Seen) -> Seen:
    """Return a pod as one of a gang."""
    kind, body = pod
    body["spec"] = {**body.get("spec", {}), "schedulingGroup": {"podGroupName": group}}
    return kind, body


def gang(name: str, min_count: int) -> Seen:
    """Return a PodGroup that needs so many pods."""
    spec = {"schedulingPolicy": {"gang": {"minCount": min_count}}}
    return "PodGroup", {"metadata": {"uid": f"uid-{name}", "name": name, "namespace": "ns"}, "spec": spec}


def reservation(name: str, phase: str, why: str = "") -> Seen:
    """Return a reservation in a phase, and why it is not ready."""
    conditions = [{"type": "Ready", "status": "False", "reason": why, "message": why}]
    status = {"phase": phase, "conditions": conditions if why else []}
    return "Reservation", {"metadata": {"uid": name, "name": name}, "status": status}
