"""Which of the pods that wait are candidates: those of the schedulers in question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stowage_testbed.whatif.findings import Elsewhere
from stowage_testbed.whatif.inventory import (
    DEVICE_CLASS,
    FURTHER,
    Inventory,
    Manifest,
    elements,
    listed_resources,
    part_of,
    uid_of,
    unlisted_resource,
)
from stowage_testbed.whatif.release import STOCK_NAME

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The one label of a namespace that is known without reading it."""

SELECTS_NAMESPACES = "it selects namespaces by label, and what labels they have was not read"
ASKS_FOR_DEVICES = "it asks for {}, which no node lists, and whether a device class serves it was not read"

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_FOREIGN = "not-judged/"


@dataclass(frozen=True, slots=True)
class Candidates:
    """The pods of an inventory, as the simulated scheduler is shown them; the rest is by UID.

    ``of_unread`` says why pods cannot be judged since something was not read.
    """

    pods: tuple[Manifest, ...]
    elsewhere: tuple[Elsewhere, ...]
    never_preempt: frozenset[str]
    nominated: Mapping[str, str]
    of_unread: Mapping[str, str]


def candidates_of(inventory: Inventory, schedulers: tuple[str, ...]) -> Candidates:
    """Return the pods as a scheduler of any of these names sees them."""
    pods = inventory.pods
    others = Counter(name for pod in pods if (name := scheduler_of(pod)) not in schedulers and _waits(pod))
    nodes = ((uid_of(pod), part_of(pod, "status").get("nominatedNodeName")) for pod in pods)
    return Candidates(
        pods=tuple(_shown(pod, schedulers) for pod in pods),
        elsewhere=tuple(Elsewhere(*one) for one in sorted(others.items())),
        never_preempt=frozenset(uid_of(pod) for pod in pods if part_of(pod, "spec").get("preemptionPolicy") == "Never"),
        nominated={uid: str(node) for uid, node in nodes if node},
        of_unread=dict(_of_unread(inventory)),
    )


def scheduler_of(pod: Manifest) -> str:
    """Return the name of the scheduler that a pod is for."""
    return str(part_of(pod, "spec").get("schedulerName") or STOCK_NAME)


def _of_unread(inventory: Inventory) -> Iterator[tuple[str, str]]:
    unread, listed = inventory.unread, listed_resources(inventory.nodes)
    for pod in inventory.pods:
        if FURTHER["Namespace"] in unread and _selects_namespaces(pod):
            yield uid_of(pod), SELECTS_NAMESPACES
        elif FURTHER[DEVICE_CLASS] in unread and (resource := unlisted_resource(pod, listed)):
            yield uid_of(pod), ASKS_FOR_DEVICES.format(resource)


def _shown(pod: Manifest, schedulers: tuple[str, ...]) -> Manifest:
    name = scheduler_of(pod)
    # The simulated scheduler has the stock one's name.
    shown = STOCK_NAME if name in schedulers else _FOREIGN + name if name == STOCK_NAME else name
    spec = pod.get("spec")
    if not isinstance(spec, dict) or spec.get("schedulerName") == shown:
        return pod
    return {**pod, "spec": {**spec, "schedulerName": shown}}


def _waits(pod: Manifest) -> bool:
    """Return whether a pod waits for a node, and for nothing else."""
    spec, meta = part_of(pod, "spec"), pod["metadata"]
    return not (spec.get("nodeName") or spec.get("schedulingGates") or meta.get("deletionTimestamp"))


def _selects_namespaces(pod: Manifest) -> bool:
    """Return whether its required terms ask for labels of namespaces."""
    affinity = part_of(part_of(pod, "spec"), "affinity")
    return any(
        _keys(part_of(term, "namespaceSelector")) - {NAMESPACE_NAME}
        for kind in ("podAffinity", "podAntiAffinity")
        for term in elements(part_of(affinity, kind), _REQUIRED)
    )


def _keys(selector: Mapping[str, Any]) -> set[str]:
    return {*part_of(selector, "matchLabels"), *(str(one.get("key")) for one in elements(selector, "matchExpressions"))}
