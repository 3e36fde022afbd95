"""No protected pod is evicted."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from testbed.invariants.history import History
from testbed.invariants.pod import controller_of, node_of, priority_of
from testbed.invariants.violation import Violation
from testbed.observe.change import JsonObject

SYSTEM_CRITICAL = 2_000_000_000
MIRROR = "kubernetes.io/config.mirror"
SOURCE = "kubernetes.io/config.source"
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"


def _annotation(body: JsonObject, name: str) -> str:
    annotations = body["metadata"].get("annotations") or {}
    return str(annotations.get(name, ""))


PROTECTED: dict[str, Callable[[JsonObject], bool]] = {
    "in kube-system": lambda body: body["metadata"]["namespace"] == "kube-system",
    "system-critical": lambda body: priority_of(body) >= SYSTEM_CRITICAL,
    "of no controller": lambda body: not controller_of(body),
    "of a DaemonSet": lambda body: controller_of(body).get("kind") == "DaemonSet",
    "a mirror pod": lambda body: bool(_annotation(body, MIRROR)),
    "a static pod": lambda body: _annotation(body, SOURCE) not in {"", "api"},
    "opted out": lambda body: (
        _annotation(body, "stowage.dev/do-not-move") not in {"", "false"}
        or _annotation(body, "karpenter.sh/do-not-disrupt") == "true"
        or _annotation(body, SAFE_TO_EVICT) == "false"
    ),
    "not bound": lambda body: not node_of(body),
    "not started": lambda body: (
        (body.get("status") or {}).get("phase", "Pending") == "Pending"
    ),
}
"""Written down a second time, apart from the scheduler's own rules."""


def no_protected_pod_evicted(history: History) -> Iterator[Violation]:
    """Yield evictions of pods that must never be disturbed."""
    for evicted in history.evictions:
        for why, applies in PROTECTED.items():
            if applies(evicted.body):
                yield Violation("protected", evicted.key, f"it is {why}")
