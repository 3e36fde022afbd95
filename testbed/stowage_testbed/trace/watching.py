"""What is watched of a live cluster, and the watches: they only list and watch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from stowage_testbed.api.client import ApiRefusedError
from stowage_testbed.api.kinds import Kind, Kinds
from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.change import Change
from stowage_testbed.observe.follower import Arrivals, Follower, Patience
from stowage_testbed.observe.raw_body import BodyStore
from stowage_testbed.observe.receipt import ReceiptClock
from stowage_testbed.observe.source import Source, source_of
from stowage_testbed.observe.stream import Stream

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

NAMESPACE, NODE, POD = "Namespace", "Node", "Pod"
NEEDED = frozenset({NAMESPACE, NODE, POD})
"""Without these there is nothing to record."""

RECORDED: Mapping[str, str] = {
    NAMESPACE: "",
    NODE: "",
    "PriorityClass": "scheduling.k8s.io",
    "RuntimeClass": "node.k8s.io",
    "StorageClass": "storage.k8s.io",
    "DeviceClass": "resource.k8s.io",
    "ResourceSlice": "resource.k8s.io",
    "PersistentVolume": "",
    "LimitRange": "",
    "ResourceQuota": "",
    "Service": "",
    "PersistentVolumeClaim": "",
    "ResourceClaimTemplate": "resource.k8s.io",
    "ResourceClaim": "resource.k8s.io",
    "PodDisruptionBudget": "policy",
    "Workload": "scheduling.k8s.io",
    "PodGroup": "scheduling.k8s.io",
    "Deployment": "apps",
    "ReplicaSet": "apps",
    "StatefulSet": "apps",
    "DaemonSet": "apps",
    "Job": "batch",
    POD: "",
}
"""The kinds with their groups, in an order in which they can be made."""

SILENCE_S = 150.0
"""A server says something on each watch once a minute."""

FOR_EVER = Patience(float("inf"))
_FORBIDDEN = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.UNAUTHORIZED})


def choose_kinds(kinds: Kinds, wanted: Mapping[str, str] = RECORDED) -> dict[str, Kind]:
    """Return the kinds that are wanted and served, by the kinds of their sources."""
    served: dict[tuple[str, str], Kind] = {}
    for one in kinds.all():
        if "watch" in one.verbs:
            # The version that the server likes best comes first.
            served.setdefault((one.name, one.group), one)
    found = (served.get(one) for one in wanted.items())
    return {kind.key: kind for kind in found if kind is not None}


@dataclass(frozen=True, slots=True)
class Watched:
    """One kind as a list shows it, and how it goes on."""

    source: Source
    listed: tuple[Change, ...]
    stream: Stream


def list_all(
    api: ApiClient, kinds: Mapping[str, Kind], clock: ReceiptClock, store: BodyStore, remark: Callable[[str], object]
) -> Iterator[Watched]:
    """Yield each kind; what may not be listed is left out with a remark.

    Raises a StowageError if that is nodes, pods or namespaces, or if the server does not answer.
    """
    for key, kind in kinds.items():
        source = source_of(kind)
        stream = Stream(api, source, clock, store, SILENCE_S)
        try:
            listed = stream.list_all()
        except ApiRefusedError as error:
            if error.status not in _FORBIDDEN or key in NEEDED:
                raise StowageError(f"{error}; it takes the rights to list and to watch") from error
            remark(f"{key} may not be listed, and is left out")
            continue
        listed.sort(key=_in_order_of_creation)
        yield Watched(source, tuple(listed), stream)


def follow(watched: Watched, arrivals: Arrivals, clock: ReceiptClock) -> Follower:
    """Begin to watch what was listed, for as long as it is not cancelled."""
    return Follower(watched.source, watched.stream, arrivals, clock, FOR_EVER)


def _in_order_of_creation(change: Change) -> tuple[str, str, str]:
    created = str(change.body["metadata"].get("creationTimestamp", ""))
    return created, change.namespace, change.name
