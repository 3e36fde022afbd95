"""A pod as the API server has it at one change: read once from its JSON, for every room."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from sys import intern
from types import MappingProxyType
from typing import Any

import msgspec

from stowage_testbed.amounts.resources import ONE_POD, Resources
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.raw_body import RawBody

WORKLOAD_LABEL = "stowage.dev/workload"  # Label of pods and controllers: the workload's name in the scenario
ALLOCATED = "stowage.dev/reservation-allocated"  # The annotation that names whose room a pod took
UNSCHEDULABLE = "Unschedulable"
EVICTED = "EvictionByEvictionAPI"  # The reason of a disruption: an eviction that the server has granted
PREEMPTED = "PreemptionByScheduler"  # The reason of one that makes room for a pod of higher priority

FINISHED = frozenset({"Succeeded", "Failed"})  # Phases of pods whose containers have ended for good; they claim no room
SHAPES = 4096  # Templates whose requests and labels are shared by their pods; every other is read again
_HASH = "pod-template-hash"


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod as last seen.

    ``requests`` are what it takes of a node beside devices; ``claims`` name its ResourceClaims that are known, of which
    it ``lacks_claims`` as long as the controller has not made all of them. ``node`` is empty without one; the owner is
    its controller. ``ready`` is the condition ``Ready``, ``waiting_*`` what ``PodScheduled=False`` says, ``disruption``
    the reason of ``DisruptionTarget``. ``reservation`` is the UID of the plan or reservation whose room the pod says
    that it took. ``group`` is the name of its PodGroup, empty for a pod of none.
    """

    uid: str
    namespace: str
    name: str
    labels: Mapping[str, str]
    owner_kind: str
    owner_name: str
    owner_uid: str
    node: str
    phase: str
    priority: int
    requests: Resources
    terminating: bool
    ready: bool
    disruption: str
    waiting_reason: str
    waiting_message: str
    reservation: str
    claims: tuple[str, ...] = ()
    lacks_claims: bool = False
    group: str = ""

    @property
    def key(self) -> str:
        """The pod's ``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def workload(self) -> str:
        """The scenario's name of its controller; empty for a pod of no scenario."""
        return self.labels.get(WORKLOAD_LABEL, "")

    @property
    def top(self) -> tuple[str, str]:
        """Kind and name of its controller, of the Deployment rather than its ReplicaSet; empty without one."""
        # Only Deployments give their pods that label, and call the ReplicaSet by it.
        above = self.owner_name.removesuffix(f"-{self.labels.get(_HASH, '')}")
        if self.owner_kind == "ReplicaSet" and self.labels.get(_HASH) and above != self.owner_name:
            return "Deployment", above
        return self.owner_kind, self.owner_name

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

    @property
    def evicted(self) -> bool:
        """Whether the server has granted an eviction."""
        return self.disruption == EVICTED

    @property
    def takes_room(self) -> bool:
        """Whether the pod takes room on its node, also while it terminates."""
        return self.bound and not self.finished

    def why_pending(self) -> str:
        """Return the reason the pod has no node, in one line."""
        if not self.waiting_reason:
            return f"{self.key}: not tried by a scheduler yet"
        return f"{self.key}: {self.waiting_reason}: {self.waiting_message}"


class _Owner(msgspec.Struct):
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class _Metadata(msgspec.Struct, rename="camel"):
    uid: str = ""
    namespace: str | None = None
    name: str = ""
    labels: msgspec.Raw = msgspec.Raw(b"null")
    annotations: msgspec.Raw = msgspec.Raw(b"null")
    deletion_timestamp: str | None = None
    owner_references: list[_Owner] | None = None


class _Container(msgspec.Struct, rename="camel"):
    resources: msgspec.Raw = msgspec.Raw(b"null")
    restart_policy: str | None = None


class _Claim(msgspec.Struct, rename="camel"):
    resource_claim_name: str | None = None


class _Mapping(msgspec.Struct, rename="camel"):
    resource_name: str = ""


class _Extended(msgspec.Struct, rename="camel"):
    resource_claim_name: str | None = None
    request_mappings: list[_Mapping] = msgspec.field(default_factory=list)


class _Group(msgspec.Struct, rename="camel"):
    pod_group_name: str | None = None


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str | None = None
    priority: int | None = None
    init_containers: list[_Container] | None = None
    containers: list[_Container] | None = None
    resources: msgspec.Raw = msgspec.Raw(b"null")
    overhead: msgspec.Raw = msgspec.Raw(b"null")
    resource_claims: list[_Claim] | None = None
    scheduling_group: _Group | None = None


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None


class _Status(msgspec.Struct, rename="camel"):
    phase: str | None = None
    conditions: list[_Condition] | None = None
    resource_claim_statuses: list[_Claim] | None = None
    extended_resource_claim_status: _Extended | None = None


class _Pod(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec | None = None
    status: _Status | None = None


_NO_CONDITION, _NO_OWNER, _NO_SPEC, _NO_STATUS = _Condition(), _Owner(), _Spec(), _Status()


def read_pod(body: JsonObject) -> Pod:
    """Read a pod's JSON; of one that lies on disk only what is told, and only once."""
    if isinstance(body, RawBody):
        return body.digest(_read, _Pod)
    return _read(msgspec.json.decode(msgspec.json.encode(body, enc_hook=dict), type=_Pod))


def _read(pod: _Pod) -> Pod:
    metadata, spec, status = pod.metadata, pod.spec or _NO_SPEC, pod.status or _NO_STATUS
    owner = next((one for one in metadata.owner_references or () if one.controller), _NO_OWNER)
    conditions = {(one.type, one.status): one for one in status.conditions or ()}
    waiting = conditions.get(("PodScheduled", "False"), _NO_CONDITION)
    disrupted = conditions.get(("DisruptionTarget", "True"), _NO_CONDITION)
    noted = bytes(metadata.annotations)
    listed = spec.resource_claims or []
    claims = [*listed, *(status.resource_claim_statuses or ())]
    # Of a claim by template the status says the name, or that none is needed.
    lacking = sum(not one.resource_claim_name for one in listed) > len(status.resource_claim_statuses or ())
    requests = _share_requests(
        # A container's other fields differ from pod to pod of one template.
        msgspec.json.encode((spec.init_containers, spec.containers, spec.resources, spec.overhead))
    )
    if extended := status.extended_resource_claim_status:
        # These are devices, which the node does not list.
        requests = requests.without(*(one.resource_name for one in extended.request_mappings))
        claims.append(_Claim(extended.resource_claim_name))
    # Thousands of pods share these words, and each pod's changes its names.
    return Pod(
        uid=intern(metadata.uid),
        namespace=intern(metadata.namespace or ""),
        name=intern(metadata.name),
        labels=_share_labels(bytes(metadata.labels)),
        owner_kind=intern(owner.kind),
        owner_name=intern(owner.name),
        owner_uid=intern(owner.uid),
        node=intern(spec.node_name or ""),
        phase=intern(status.phase or "Pending"),
        priority=spec.priority or 0,
        requests=requests,
        terminating=bool(metadata.deletion_timestamp),
        ready=("Ready", "True") in conditions,
        disruption=intern(disrupted.reason or ""),
        waiting_reason=intern(waiting.reason or ""),
        waiting_message=intern(waiting.message or ""),
        reservation=_read_reservation(msgspec.json.decode(noted)) if ALLOCATED.encode() in noted else "",
        lacks_claims=lacking,
        group=intern(spec.scheduling_group.pod_group_name or "") if spec.scheduling_group else "",
        claims=tuple(intern(one.resource_claim_name) for one in claims if one.resource_claim_name),
    )


def _read_reservation(annotations: Mapping[str, Any]) -> str:
    """Return the UID that an annotation names; users write annotations too, and what cannot be read is none."""
    try:
        allocated = msgspec.json.decode(annotations.get(ALLOCATED, ""))
    except msgspec.DecodeError:
        return ""
    uid = allocated.get("uid") if isinstance(allocated, dict) else None
    return uid if isinstance(uid, str) else ""


@lru_cache(maxsize=SHAPES)
def _share_labels(text: bytes) -> Mapping[str, str]:
    return MappingProxyType(msgspec.json.decode(text) or {})


@lru_cache(maxsize=SHAPES)
def _share_requests(shape: bytes) -> Resources:
    first, containers, resources, overhead = msgspec.json.decode(shape)
    spec = {"initContainers": first, "containers": containers, "overhead": overhead}
    return requests_of({"spec": {**spec, "resources": resources or {}}})


def key_of(body: JsonObject) -> str:
    """Return ``namespace/name``."""
    metadata = body["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"


def node_of(body: JsonObject) -> str:
    """Return the pod's node, empty while it has none."""
    return (body.get("spec") or {}).get("nodeName") or ""


def requests_of(body: JsonObject) -> Resources:
    """Return what the pod takes, as the scheduler counts it.

    Containers and sidecars together, or the largest init container with the sidecars before it, whichever is more; in
    its stead what the pod as a whole asks for, where it does; and the overhead. The pod itself counts as one.
    """
    spec = body.get("spec") or {}
    running: Counter[str] = Counter()
    largest: Counter[str] = Counter()
    for container in spec.get("initContainers") or ():
        needs = _requests(container)
        if container.get("restartPolicy") == "Always":
            running.update(needs)
            largest |= running
        else:
            largest |= running + Counter(needs)
    for container in spec.get("containers") or ():
        running.update(_requests(container))
    asked = Resources({**(running | largest), **_requests(spec)})
    return asked + Resources.of_list(spec.get("overhead") or {}) + ONE_POD


def _requests(asker: Mapping[str, Any]) -> Resources:
    """Return what a container asks for, or a pod as a whole."""
    return Resources.of_list((asker.get("resources") or {}).get("requests") or {})
