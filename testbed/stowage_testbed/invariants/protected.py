"""No protected pod is evicted by the scheduler; whoever drains a node may."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stowage_testbed.invariants.history import History
from stowage_testbed.invariants.violation import Violation
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.pod_body import FINISHED, controller_of, node_of, priority_of

SYSTEM_CRITICAL = 2_000_000_000
MIRROR = "kubernetes.io/config.mirror"
SOURCE = "kubernetes.io/config.source"
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
DO_NOT_MOVE = "stowage.dev/do-not-move"

REPLACING = ("ReplicaSet", "ReplicationController", "StatefulSet", "Job")
"""Controllers that make a new pod for one that was evicted, to run anywhere."""


def _annotation(body: JsonObject, name: str) -> str | None:
    """Return an annotation, which may be there and empty."""
    value = (body["metadata"].get("annotations") or {}).get(name)
    return None if value is None else str(value)


def _phase(body: JsonObject) -> str:
    return str((body.get("status") or {}).get("phase", "Pending"))


def _opted_out(body: JsonObject) -> bool:
    return (
        _annotation(body, DO_NOT_MOVE) not in {None, "false"}
        or _annotation(body, DO_NOT_DISRUPT) == "true"
        or _annotation(body, SAFE_TO_EVICT) == "false"
    )


def _of_unknown_controller(body: JsonObject) -> bool:
    kind = controller_of(body).get("kind")
    return kind is not None and kind not in {*REPLACING, "DaemonSet"}


def _on_host_path(body: JsonObject) -> bool:
    volumes = (body.get("spec") or {}).get("volumes") or ()
    return any(volume.get("hostPath") for volume in volumes)


PROTECTED: dict[str, Callable[[JsonObject], bool]] = {
    "in kube-system": lambda body: body["metadata"]["namespace"] == "kube-system",
    "system-critical": lambda body: priority_of(body) >= SYSTEM_CRITICAL,
    "of no controller": lambda body: not controller_of(body),
    "of a DaemonSet": lambda body: controller_of(body).get("kind") == "DaemonSet",
    "of an unknown controller": _of_unknown_controller,
    "a mirror pod": lambda body: _annotation(body, MIRROR) is not None,
    "a static pod": lambda body: _annotation(body, SOURCE) not in {None, "api"},
    "opted out": _opted_out,
    "bound to its node's disk": _on_host_path,
    "not bound": lambda body: not node_of(body),
    "not started": lambda body: _phase(body) == "Pending",
    "finished": lambda body: _phase(body) in FINISHED,
}
"""Written down a second time, apart from the scheduler's own rules."""


def no_protected_pod_evicted(history: History) -> Iterator[Violation]:
    """Yield evictions by the scheduler of pods that it must never disrupt.

    A user may evict each of them. A drain meets pods that have just been bound, and has
    no reason to spare them.
    """
    for evicted in history.evictions:
        if not evicted.by_scheduler:
            continue
        for why, applies in PROTECTED.items():
            if applies(evicted.body):
                yield Violation("protected", evicted.key, f"it is {why}")
