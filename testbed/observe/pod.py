"""What the runner needs to know of a pod, read from the API's object once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from testbed.observe.change import JsonObject
from testbed.scenario.manifests import WORKLOAD_LABEL

UNSCHEDULABLE = "Unschedulable"
FINISHED_PHASES = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class ObservedPod:
    """One pod as last seen.

    Attributes
    ----------
    workload
        The scenario's name of its controller; empty for a pod of no scenario.
    node
        Name of its node; empty while it has none.
    ready
        Whether its condition ``Ready`` holds.
    waiting_reason, waiting_message
        Of the condition ``PodScheduled=False``; empty without one.
    """

    uid: str
    namespace: str
    name: str
    owner_kind: str
    owner_name: str
    workload: str
    node: str
    phase: str
    priority: int
    terminating: bool
    ready: bool
    waiting_reason: str
    waiting_message: str

    @property
    def key(self) -> str:
        """The pod's ``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def bound(self) -> bool:
        """Whether the pod has a node."""
        return bool(self.node)

    @property
    def unschedulable(self) -> bool:
        """Whether the scheduler tried and found no node."""
        return not self.bound and self.waiting_reason == UNSCHEDULABLE

    @property
    def finished(self) -> bool:
        """Whether its containers have ended for good; it claims no room any more."""
        return self.phase in FINISHED_PHASES

    @property
    def live(self) -> bool:
        """Whether the pod counts for its controller."""
        return not self.terminating and not self.finished

    def why_pending(self) -> str:
        """Return the reason the pod has no node, in one line."""
        if not self.waiting_reason:
            return f"{self.key}: not tried by a scheduler yet"
        return f"{self.key}: {self.waiting_reason}: {self.waiting_message}"


def observed_pod(body: JsonObject) -> ObservedPod:
    """Read a pod's JSON."""
    metadata, spec = body["metadata"], body.get("spec", {})
    status = body.get("status", {})
    owner = _controller(metadata)
    waiting = _unscheduled_condition(status)
    return ObservedPod(
        uid=metadata["uid"],
        namespace=metadata["namespace"],
        name=metadata["name"],
        owner_kind=owner.get("kind", ""),
        owner_name=owner.get("name", ""),
        workload=(metadata.get("labels") or {}).get(WORKLOAD_LABEL, ""),
        node=spec.get("nodeName") or "",
        phase=status.get("phase", "Pending"),
        priority=spec.get("priority") or 0,
        terminating=bool(metadata.get("deletionTimestamp")),
        ready=is_ready(status),
        waiting_reason=waiting.get("reason", ""),
        waiting_message=waiting.get("message", ""),
    )


def is_ready(status: Mapping[str, Any]) -> bool:
    """Tell whether a pod's condition ``Ready`` holds."""
    return any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in status.get("conditions") or ()
    )


def _controller(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    for owner in metadata.get("ownerReferences") or []:
        if owner.get("controller"):
            return dict(owner)
    return {}


def _unscheduled_condition(status: Mapping[str, Any]) -> Mapping[str, Any]:
    for condition in status.get("conditions") or []:
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return dict(condition)
    return {}
