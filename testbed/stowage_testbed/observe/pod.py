"""What the runner needs to know of a pod, read from the API's object once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from sys import intern
from typing import Any, TypedDict

from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.pod_body import FINISHED, controller_of, is_ready, is_terminating, node_of, priority_of
from stowage_testbed.observe.raw_body import RawBody

WORKLOAD_LABEL = "stowage.dev/workload"
"""Label of pods and controllers: the workload's name in the scenario."""

UNSCHEDULABLE = "Unschedulable"


class _Metadata(TypedDict, total=False):
    uid: str
    namespace: str
    name: str
    labels: dict[str, str] | None
    deletionTimestamp: Any
    ownerReferences: list[dict[str, Any]] | None


class _Spec(TypedDict, total=False):
    nodeName: str | None
    priority: int | None


class _Status(TypedDict, total=False):
    phase: str
    conditions: list[dict[str, Any]] | None


class _Pod(TypedDict, total=False):
    metadata: _Metadata
    spec: _Spec
    status: _Status


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
        return self.phase in FINISHED

    @property
    def live(self) -> bool:
        """Whether the pod counts for its controller."""
        return not self.terminating and not self.finished

    def why_pending(self) -> str:
        """Return the reason the pod has no node, in one line."""
        if not self.waiting_reason:
            return f"{self.key}: not tried by a scheduler yet"
        return f"{self.key}: {self.waiting_reason}: {self.waiting_message}"


def read_pod(body: JsonObject) -> ObservedPod:
    """Read a pod's JSON."""
    return body.digest(_read, _Pod) if isinstance(body, RawBody) else _read(body)


def _read(body: JsonObject) -> ObservedPod:
    metadata, status = body["metadata"], body.get("status", {})
    owner = controller_of(body)
    waiting = find_unscheduled_condition(status)
    # Thousands of pods share these words, and each pod's changes its names.
    return ObservedPod(
        uid=intern(metadata["uid"]),
        namespace=intern(metadata["namespace"]),
        name=intern(metadata["name"]),
        owner_kind=intern(owner.get("kind", "")),
        owner_name=intern(owner.get("name", "")),
        workload=intern((metadata.get("labels") or {}).get(WORKLOAD_LABEL, "")),
        node=intern(node_of(body)),
        phase=intern(status.get("phase", "Pending")),
        priority=priority_of(body),
        terminating=is_terminating(body),
        ready=is_ready(status),
        waiting_reason=intern(waiting.get("reason", "")),
        waiting_message=intern(waiting.get("message", "")),
    )


def find_unscheduled_condition(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the condition that says why a pod has no node; empty without one."""
    for condition in status.get("conditions") or []:
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return dict(condition)
    return {}
