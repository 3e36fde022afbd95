"""What the page shows of a pod and of a node, read from the API's objects."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from sys import intern
from typing import Any, TypedDict, TypeVar, cast

from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.observe.pod_body import (
    FINISHED,
    allocatable_of,
    controller_of,
    node_of,
    priority_of,
    requests_of,
    terminating,
)
from stowage_testbed.observe.raw_body import RawBody

ZONE_LABEL = "topology.kubernetes.io/zone"
HASH_LABEL = "pod-template-hash"

LONGEST_CAUSE = 200
"""Characters of a cause that are shown; some name every node."""

_OTHER_AMOUNTS = re.compile(r"ephemeral-storage|hugepages-.*|attachable-volumes-.*")
_NODES_AVAILABLE = re.compile(r"\d+/\d+ nodes are available: (.*?)\.?(?:\. .*)?", re.S)
_NEXT_CAUSE = re.compile(r", (?=\d+ )")
_JOB_OF_CRON_JOB = re.compile(r"-\d{8,}$")

Form = TypeVar("Form")


class PodState(IntEnum):
    """Where a pod stands; the browser has the same numbers."""

    ABSENT = 0
    """Not made yet, deleted, or finished: it claims no room."""
    WAITING = 1
    BOUND = 2
    LEAVING = 3
    """On its node, and its deletion has begun."""


@dataclass(frozen=True, slots=True)
class PodKind:
    """What pods of one workload have in common, as the page needs it.

    Attributes
    ----------
    extended
        Requests besides CPU and memory, by name, in the order of their names.
    """

    workload: str
    priority: int
    cpu_milli: int
    memory_bytes: int
    namespace: str
    extended: tuple[tuple[str, int], ...] = ()

    def row(self) -> list[Any]:
        """Return the kind as the browser reads it."""
        own = [self.workload, self.priority, self.cpu_milli, self.memory_bytes]
        return [*own, self.namespace, dict(self.extended)]


@dataclass(frozen=True, slots=True)
class SeenPod:
    """One pod as last seen.

    Attributes
    ----------
    created_s
        Unix time of its creation, in seconds.
    causes
        Why it waits, without numbers of nodes; empty while it was not tried.
    said
        The scheduler's whole sentence.
    """

    name: str
    kind: PodKind
    created_s: int
    node: str
    state: PodState
    causes: tuple[str, ...]
    said: str


@dataclass(frozen=True, slots=True)
class SeenNode:
    """One node as last seen, with what pods can request there."""

    name: str
    zone: str
    cpu_milli: int
    memory_bytes: int
    pods: int
    extended: tuple[tuple[str, int], ...]
    cordoned: bool
    ready: bool

    def row(self) -> list[Any]:
        """Return the node as the browser reads it."""
        amounts = [self.cpu_milli, self.memory_bytes, self.pods, dict(self.extended)]
        return [self.name, self.zone, *amounts, self.cordoned, self.ready]


class _Pod(TypedDict, total=False):
    metadata: _PodMetadata
    spec: _PodSpec
    status: _Status


class _PodMetadata(TypedDict, total=False):
    namespace: str
    name: str
    labels: dict[str, str] | None
    creationTimestamp: str | None
    deletionTimestamp: str | None
    ownerReferences: list[dict[str, Any]] | None


class _Container(TypedDict, total=False):
    resources: dict[str, Any] | None
    restartPolicy: str | None


class _PodSpec(TypedDict, total=False):
    nodeName: str | None
    priority: int | None
    containers: list[_Container] | None
    initContainers: list[_Container] | None
    resources: dict[str, Any] | None
    overhead: dict[str, Any] | None


class _Status(TypedDict, total=False):
    phase: str | None
    conditions: list[dict[str, Any]] | None
    allocatable: dict[str, Any] | None


class _Node(TypedDict, total=False):
    metadata: _PodMetadata
    spec: _NodeSpec
    status: _Status


class _NodeSpec(TypedDict, total=False):
    unschedulable: bool | None


def seen_pod(body: JsonObject) -> SeenPod:
    """Read a pod's JSON."""
    pod = _read(body, _Pod)
    metadata, status = pod["metadata"], pod.get("status") or {}
    waiting = _condition(status, "PodScheduled", "False")
    node, state = node_of(pod), _state(pod)
    reason, said = waiting.get("reason") or "", waiting.get("message") or ""
    waits = state is PodState.WAITING
    return SeenPod(
        name=metadata["name"],
        kind=_kind(pod),
        created_s=_seconds(metadata.get("creationTimestamp")),
        node=intern(node),
        state=state,
        causes=causes_of(reason, said) if waits and waiting else (),
        said=said if waits else "",
    )


def seen_node(body: JsonObject) -> SeenNode:
    """Read a node's JSON."""
    node = _read(body, _Node)
    metadata, spec = node["metadata"], node.get("spec") or {}
    amounts = allocatable_of(node)
    return SeenNode(
        name=metadata["name"],
        zone=(metadata.get("labels") or {}).get(ZONE_LABEL, ""),
        cpu_milli=amounts.get("cpu", 0),
        memory_bytes=amounts.get("memory", 0),
        pods=amounts.get("pods", 0),
        extended=_extended(amounts),
        cordoned=bool(spec.get("unschedulable")),
        ready=bool(_condition(node.get("status") or {}, "Ready", "True")),
    )


def causes_of(reason: str, message: str) -> tuple[str, ...]:
    """Return why a pod waits, cause by cause, without numbers of nodes.

    The scheduler counts nodes in its sentence: "0/5 nodes are available: 2 Insufficient
    cpu, 3 node(s) were unschedulable. preemption: ...". Without the numbers, pods that
    wait for the same causes can be counted together.
    """
    found = _NODES_AVAILABLE.fullmatch(message)
    if found is None:
        text = ": ".join(filter(None, (reason, message)))
        return (text[:LONGEST_CAUSE],) if text else ()
    parts = _NEXT_CAUSE.split(found[1])
    causes = {part.partition(" ")[2][:LONGEST_CAUSE] for part in parts}
    return tuple(sorted(filter(None, causes)))


def workload_of(body: JsonObject) -> str:
    """Return the name of what made a pod: Deployment, StatefulSet, Job, CronJob.

    A scenario's own name for it comes first. Pods without a controller are workloads of
    their own.
    """
    metadata = body["metadata"]
    labels, owner = metadata.get("labels") or {}, controller_of(body)
    name: str = owner.get("name", "") or metadata["name"]
    if WORKLOAD_LABEL in labels:
        return str(labels[WORKLOAD_LABEL])
    match owner.get("kind"):
        case "ReplicaSet":
            return name.removesuffix(f"-{labels.get(HASH_LABEL, '')}")
        case "Job":
            return _JOB_OF_CRON_JOB.sub("", name)
    return name


def _read(body: JsonObject, form: type[Form]) -> JsonObject:
    """Parse no more of an object than the page shows."""
    if isinstance(body, RawBody):
        return cast("JsonObject", body.decoded(form))
    return body


def _kind(pod: JsonObject) -> PodKind:
    amounts = requests_of(pod)
    return PodKind(
        workload=workload_of(pod),
        priority=priority_of(pod),
        cpu_milli=amounts.get("cpu", 0),
        memory_bytes=amounts.get("memory", 0),
        namespace=pod["metadata"].get("namespace", ""),
        extended=_extended(amounts),
    )


def _state(pod: JsonObject) -> PodState:
    if (pod.get("status") or {}).get("phase") in FINISHED:
        return PodState.ABSENT
    if not node_of(pod):
        return PodState.ABSENT if terminating(pod) else PodState.WAITING
    return PodState.LEAVING if terminating(pod) else PodState.BOUND


def _extended(amounts: Any) -> tuple[tuple[str, int], ...]:
    named = {"cpu", "memory", "pods"}
    return tuple(
        (name, count)
        for name, count in sorted(amounts.items())
        if count and name not in named and not _OTHER_AMOUNTS.fullmatch(name)
    )


def _condition(status: Any, kind: str, value: str) -> dict[str, Any]:
    for one in status.get("conditions") or ():
        if one["type"] == kind and one["status"] == value:
            return dict(one)
    return {}


def _seconds(stamp: str | None) -> int:
    return int(datetime.fromisoformat(stamp).timestamp()) if stamp else 0
