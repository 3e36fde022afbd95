"""What the rules look at again and again, read once from each change of a pod.

A run has some hundred thousand changes of pods, each of a few kilobytes of JSON: no
rule may parse them for itself. What many pods share is kept once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from sys import intern
from types import MappingProxyType
from typing import Any, TypedDict

import msgspec

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.observe.change import JsonObject, name_of, namespace_of, uid_of
from stowage_testbed.observe.pod_body import (
    controller_of,
    is_being_evicted,
    is_live,
    is_live_and_ready,
    is_terminating,
    node_of,
    priority_of,
    requests_of,
    takes_room,
)
from stowage_testbed.observe.raw_body import RawBody

TAKEN = "stowage.dev/reservation-allocated"
"""The annotation that names whose room a pod took."""

SHAPES = 4096
"""Templates whose requests and labels are kept; every other is read again."""


@dataclass(frozen=True, slots=True)
class PodFacts:
    """One pod at one change.

    ``controller`` is a UID, empty without one; ``took`` that of the plan or reservation whose room the pod says that it
    took; ``granted`` means that the server granted an eviction.
    """

    uid: str
    namespace: str
    name: str
    labels: Mapping[str, str]
    node: str
    priority: int
    controller: str
    requests: Resources
    takes_room: bool
    terminating: bool
    live: bool
    ready: bool
    granted: bool
    took: str

    @property
    def key(self) -> str:
        """The pod's ``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class _Metadata(TypedDict, total=False):
    labels: msgspec.Raw
    annotations: msgspec.Raw
    deletionTimestamp: Any
    ownerReferences: list[dict[str, Any]] | None


class _Container(TypedDict, total=False):
    resources: msgspec.Raw
    restartPolicy: str | None


class _Spec(TypedDict, total=False):
    nodeName: str | None
    priority: int | None
    initContainers: list[_Container] | None
    containers: list[_Container]
    resources: msgspec.Raw
    overhead: msgspec.Raw


class _Pod(TypedDict, total=False):
    metadata: _Metadata
    spec: _Spec
    status: dict[str, Any]


def pod_facts(body: JsonObject) -> PodFacts:
    """Return the facts of a pod as JSON."""
    seen: JsonObject
    if isinstance(body, RawBody):
        seen = found = body.decode(_Pod)
        labels = _shared_labels(bytes(found["metadata"].get("labels", b"null")))
        requests = _shared_requests(_shape(found.get("spec") or {}))
        noted = bytes(found["metadata"].get("annotations", b"null"))
        annotations = msgspec.json.decode(noted) if TAKEN.encode() in noted else {}
    else:
        seen = body
        labels, annotations = (body["metadata"].get(key) or {} for key in ("labels", "annotations"))
        requests = requests_of(body)
    return PodFacts(
        uid=uid_of(body),
        namespace=namespace_of(body),
        name=name_of(body),
        labels=labels,
        node=intern(node_of(seen)),
        priority=priority_of(seen),
        controller=intern(str(controller_of(seen).get("uid", ""))),
        requests=requests,
        takes_room=takes_room(seen),
        terminating=is_terminating(seen),
        live=is_live(seen),
        ready=is_live_and_ready(seen),
        granted=is_being_evicted(seen),
        took=_taken_from(annotations.get(TAKEN, "")),
    )


def _taken_from(text: str) -> str:
    """Return the UID that an annotation names; users write annotations too, and what cannot be read is none."""
    try:
        taken = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return ""
    uid = taken.get("uid") if isinstance(taken, dict) else None
    return uid if isinstance(uid, str) else ""


@lru_cache(maxsize=SHAPES)
def _shared_labels(text: bytes) -> Mapping[str, str]:
    return MappingProxyType(msgspec.json.decode(text) or {})


_Shape = tuple[bytes, ...]


def _shape(spec: _Spec) -> _Shape:
    """Return the JSON of all that the requests are made from."""
    # A container's other fields differ from pod to pod of one template.
    return (
        msgspec.json.encode(spec.get("initContainers")),
        msgspec.json.encode(spec.get("containers")),
        bytes(spec.get("resources", b"null")),
        bytes(spec.get("overhead", b"null")),
    )


@lru_cache(maxsize=SHAPES)
def _shared_requests(shape: _Shape) -> Resources:
    first, containers, resources, overhead = map(msgspec.json.decode, shape)
    spec = {"initContainers": first, "containers": containers, "overhead": overhead}
    return requests_of({"spec": {**spec, "resources": resources or {}}})
