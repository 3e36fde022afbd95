"""Have the controllers of a namespace made all their pods? One rule a kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from stowage_testbed.api.objects import is_observed
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.pod import Pod
from stowage_testbed.observe.source import DAEMON_SETS, DEPLOYMENTS, JOBS, REPLICA_SETS, STATEFUL_SETS
from stowage_testbed.observe.state import State

CONTROLLERS = (DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, DAEMON_SETS, JOBS)
"""What must be watched besides pods."""


def missing_pods(state: State, namespace: str) -> list[str]:
    """Return what is still to be created, one line a controller; empty if nothing."""
    pods = [pod for pod in state.all_pods(namespace) if not pod.terminating]
    return [
        f"{kind} {name} has {has} of {wants} pods"
        for kind, name, wants, has in _counted(state, namespace, pods)
        if has < wants
    ]


def _counted(state: State, namespace: str, pods: Sequence[Pod]) -> Iterator[tuple[str, str, int, int]]:
    for kind, count in _RULES.items():
        for body in state.bodies(kind, namespace):
            name = body["metadata"]["name"]
            own = [p for p in pods if (p.owner_kind, p.owner_name) == (kind, name)]
            yield kind, name, *count(body, own)
    for body in state.bodies("Deployment", namespace):
        uid = body["metadata"]["uid"]
        sets = [
            one["spec"].get("replicas", 1)
            for one in state.bodies("ReplicaSet", namespace)
            if any(o["uid"] == uid for o in one["metadata"].get("ownerReferences", ()))
        ]
        wants = body["spec"].get("replicas", 1) if is_observed(body) else sum(sets) + 1
        yield "Deployment", body["metadata"]["name"], wants, sum(sets)


def _of_stateful_set(body: JsonObject, own: Sequence[Pod]) -> tuple[int, int]:
    # Pods come one by one, each when the one before is ready.
    stuck = any(pod.unschedulable for pod in own)
    return (len(own) if stuck else body["spec"].get("replicas", 1)), len(own)


def _of_daemon_set(body: JsonObject, own: Sequence[Pod]) -> tuple[int, int]:
    status = body.get("status") or {}
    seen = is_observed(body)
    return (status.get("desiredNumberScheduled", 0) if seen else len(own) + 1), len(own)


def _of_job(body: JsonObject, own: Sequence[Pod]) -> tuple[int, int]:
    spec = body["spec"]
    at_once = spec.get("parallelism", 1)
    wants = min(at_once, spec.get("completions") or at_once)
    return (0 if spec.get("suspend") else wants), len(own)


_RULES: Mapping[str, Callable[[JsonObject, Sequence[Pod]], tuple[int, int]]] = {
    "ReplicaSet": lambda body, own: (body["spec"].get("replicas", 1), len(own)),
    "StatefulSet": _of_stateful_set,
    "DaemonSet": _of_daemon_set,
    "Job": _of_job,
}
