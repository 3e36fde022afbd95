"""Changes of pods as a watch would have reported them, at whole seconds."""

from typing import Any

from stowage_testbed.observe.audit import AuditEntry
from stowage_testbed.observe.change import NS_PER_S, Change, Receipt, Verb
from stowage_testbed.observe.pod import WORKLOAD_LABEL

NAMESPACE = "ns"


def at(second: float) -> Receipt:
    moment = round(second * NS_PER_S)
    return Receipt(moment, moment)


def seen(
    second: float,
    verb: Verb,
    name: str,
    *,
    node: str = "",
    ready: bool = False,
    phase: str = "Pending",
    namespace: str = NAMESPACE,
    disruption: str = "",
) -> Change:
    """Return one change of a pod of 100 m, with 50 m in a sidecar, and 1 GB."""
    body: dict[str, Any] = {
        "metadata": {"uid": f"uid-{name}", "namespace": namespace, "name": name, "labels": {WORKLOAD_LABEL: "web"}},
        "spec": {
            "priority": 7,
            "containers": [{"resources": {"requests": {"cpu": "100m", "memory": "1G"}}}],
            "initContainers": [{"restartPolicy": "Always", "resources": {"requests": {"cpu": "50m"}}}],
            **({"nodeName": node} if node else {}),
        },
        "status": {
            "phase": phase,
            "conditions": [
                {"type": "Ready", "status": str(ready)},
                *([{"type": "DisruptionTarget", "status": "True", "reason": disruption}] if disruption else ()),
            ],
        },
    }
    return Change("Pod", verb, at(second), body)


def life(name: str, created: float, bound: float, ready: float) -> list[Change]:
    """Return the changes of a pod that was created, bound to n1, and ready."""
    return [
        seen(created, Verb.ADDED, name),
        seen(bound, Verb.MODIFIED, name, node="n1"),
        seen(ready, Verb.MODIFIED, name, node="n1", ready=True, phase="Running"),
    ]


def logged(
    second: float, subresource: str = "", name: str = "", *, verb: str = "create", took: float = 0.0005
) -> AuditEntry:
    """Return the audit entry of a pod's creation, of its binding, or of a write.

    It is answered at ``second`` and came in ``took`` seconds before.
    """
    return AuditEntry(
        verb=verb,
        resource="pods",
        subresource=subresource,
        namespace=NAMESPACE,
        name=name,
        user="somebody",
        code=201,
        stage_ns=at(second).wall_ns,
        received_ns=at(second - took).wall_ns,
    )
