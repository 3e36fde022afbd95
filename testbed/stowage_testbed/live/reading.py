"""What the page needs of a node, a pod and a plan, read from their JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypedDict, TypeVar

import msgspec

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.pod import WORKLOAD_LABEL, find_unscheduled_condition
from stowage_testbed.observe.pod_body import (
    FINISHED,
    allocatable_of,
    controller_of,
    is_terminating,
    node_of,
    priority_of,
    requests_of,
)
from stowage_testbed.observe.raw_body import RawBody
from stowage_testbed.trace.recording_pods import find_top

T = TypeVar("T")

ZONE_LABEL = "topology.kubernetes.io/zone"
NOT_TRIED = "not tried by a scheduler yet"

_NAMES = (WORKLOAD_LABEL, "app.kubernetes.io/name", "app")
"""Labels that say what a pod without a controller belongs to, the best first."""

_NEEDS = frozenset({"containers", "initContainers", "resources", "overhead"})

_COUNT = re.compile(r"-\d+$")

GONE, WAITING, PLACED, ENDING = range(4)
"""Where a pod is in its life; one that ends keeps its room until it has gone."""


@dataclass(frozen=True, slots=True)
class NodeKind:
    """What equal nodes have in common.

    Attributes
    ----------
    notes
        What keeps pods away, in words: not ready, cordoned.
    """

    zone: str
    notes: tuple[str, ...]
    allocatable: Resources


@dataclass(frozen=True, slots=True)
class PodKind:
    """What the replicas of one workload have in common."""

    namespace: str
    workload: str
    priority: int
    requests: Resources


@dataclass(frozen=True, slots=True)
class SeenPod:
    """A pod at one moment.

    Attributes
    ----------
    why
        What it waits for, in the scheduler's words; empty when it has a node.
    """

    kind: PodKind
    node: str
    phase: int
    why: str


class _Metadata(TypedDict, total=False):
    name: str
    namespace: str
    labels: dict[str, str] | None
    deletionTimestamp: Any
    ownerReferences: list[dict[str, Any]] | None


class _Needs(TypedDict, total=False):
    resources: dict[str, Any] | None
    restartPolicy: str | None


class _PodSpec(TypedDict, total=False):
    nodeName: str | None
    priority: int | None
    containers: list[_Needs] | None
    initContainers: list[_Needs] | None
    resources: dict[str, Any] | None
    overhead: dict[str, Any] | None


class _PodStatus(TypedDict, total=False):
    phase: str
    conditions: list[dict[str, Any]] | None


class _Pod(TypedDict, total=False):
    metadata: _Metadata
    spec: _PodSpec
    status: _PodStatus


class _NodeSpec(TypedDict, total=False):
    unschedulable: bool | None


class _NodeStatus(TypedDict, total=False):
    allocatable: dict[str, Any] | None
    conditions: list[dict[str, Any]] | None


class _Node(TypedDict, total=False):
    metadata: _Metadata
    spec: _NodeSpec
    status: _NodeStatus


def see_pod(body: JsonObject) -> SeenPod:
    """Return what a pod's JSON says of it now."""
    pod = _reduce(body, _Pod)
    phase = _phase_of(pod)
    spec = pod.get("spec") or {}
    return SeenPod(
        kind=PodKind(
            pod["metadata"].get("namespace") or "",
            _name_workload(pod),
            priority_of(pod),
            _add_up(msgspec.json.encode({key: spec[key] for key in _NEEDS & spec.keys()})),
        ),
        node=node_of(pod),
        phase=phase,
        why=_why(pod.get("status") or {}) if phase == WAITING else "",
    )


def see_node(body: JsonObject) -> NodeKind:
    """Return what a node's JSON says of it now."""
    node = _reduce(body, _Node)
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)
    cordoned = bool((node.get("spec") or {}).get("unschedulable"))
    return NodeKind(
        zone=(node["metadata"].get("labels") or {}).get(ZONE_LABEL, ""),
        notes=(*(() if ready else ("not ready",)), *(("cordoned",) if cordoned else ())),
        allocatable=allocatable_of(node),
    )


@lru_cache(maxsize=4096)
def _add_up(needs: bytes) -> Resources:
    """Return what pods request; adding up took most of the time of a list of them."""
    return requests_of({"spec": msgspec.json.decode(needs)})


def _reduce(body: JsonObject, form: type[T]) -> Any:
    # Of an object on disk nothing else is parsed: there are tens of thousands.
    return body.decode(form) if isinstance(body, RawBody) else body


def _phase_of(pod: JsonObject) -> int:
    if (pod.get("status") or {}).get("phase") in FINISHED:
        return GONE
    if is_terminating(pod):
        return ENDING if node_of(pod) else GONE
    return PLACED if node_of(pod) else WAITING


def _why(status: Mapping[str, Any]) -> str:
    waiting = find_unscheduled_condition(status)
    said = waiting.get("message") or waiting.get("reason")
    return said or NOT_TRIED


def _name_workload(pod: JsonObject) -> str:
    """Return the name of what brings the pod, or what it shares with its like."""
    metadata = pod["metadata"]
    top = find_top(pod)
    if top is not None:
        return top.name
    if owner := controller_of(pod).get("name"):
        return str(owner)
    labels = metadata.get("labels") or {}
    named = (labels[label] for label in _NAMES if labels.get(label))
    return next(named, _COUNT.sub("", metadata["name"]))
