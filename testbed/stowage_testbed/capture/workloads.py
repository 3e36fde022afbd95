"""Pods as workloads: those of a controller, and equal ones that have none."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from stowage_testbed.amounts.resources import amount
from stowage_testbed.api.client import Manifest
from stowage_testbed.capture.devices import list_pod_devices, read_allocations
from stowage_testbed.capture.reading import Found, key_of
from stowage_testbed.cluster.claims import PlacedDevice
from stowage_testbed.observe.pod import FINISHED, node_of, read_pod
from stowage_testbed.scenario.types import LONGEST_LABEL
from stowage_testbed.text.tables import first_of
from stowage_testbed.trace.reducing import CONTROLLERS, JOB_LABELS, TOPOLOGY_LABELS, only_filled, reduce_pod_spec

_MADE_LABELS = (
    JOB_LABELS
    | TOPOLOGY_LABELS
    | {
        "pod-template-hash",
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/job-completion-index",
        "controller-revision-hash",
        "pod-template-generation",
        "statefulset.kubernetes.io/pod-name",
    }
)
"""Labels that controllers give to their pods, and the server to those with a node."""

HOSTNAME = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"  # Of an affinity the part that nodes have to meet


Notes = Mapping[str, Sequence[str]]
"""What of a cluster is otherwise in the scenario, or not at all, and the names of what it is about."""


def notes_in_words(notes: Notes) -> list[str]:
    """Return each note in one line."""
    return [f"{text} ({first_of(names, 3)})" if names else text for text, names in notes.items()]


@dataclass(frozen=True, slots=True)
class CapturedWorkload:
    """Equal pods of one controller, or of none, in the order of their names.

    A pod without a node has an empty one, and a message of the scheduler. The claims are the templates of a
    StatefulSet, for volumes; several equal controllers may share the pods.
    """

    kind: str
    namespace: str
    name: str
    labels: Mapping[str, str]
    spec: Manifest
    pods: tuple[str, ...]
    nodes: tuple[str, ...]
    messages: tuple[str, ...] = ()
    claims: tuple[Manifest, ...] = ()
    controllers: int = 1
    devices: tuple[tuple[PlacedDevice, ...] | None, ...] = ()
    """What is allocated to the claims of each pod; None where only the scheduler can place it with devices."""

    @property
    def pending(self) -> int:
        """How many of its pods have no node."""
        return self.nodes.count("")

    @property
    def pod_key(self) -> str:
        """The same text for workloads with the same pods."""
        return json.dumps((self.labels, self.spec), sort_keys=True)


LACKING, _OTHERWISE = "not taken along: ", "otherwise than it was: "  # Beginnings of notes

_UNLISTED = f"{LACKING}pods on nodes that are not listed: they do not wait, and have no room here"
_LEAVING_UNBOUND = f"{LACKING}pods that were about to end and had no node: nobody places them any more"
_EVICTED = f"{LACKING}pods that a taint of their devices evicts, as it would evict them here"
_LEAVING = f"{_OTHERWISE}pods that were about to end stay, so that they hold their room"
_RESIZED = f"{_OTHERWISE}pods whose resize was not finished request what the scheduler counts for them"
_DEVICES = (
    f"{_OTHERWISE}the scheduler places pods with devices that serve an extended resource, or of which no claim tells"
)
_REVISIONS = f"{_OTHERWISE}workloads whose pods differ, as by several revisions, are one for each kind of pod"


def capture_pods(found: Found) -> tuple[list[CapturedWorkload], Notes]:
    """Return the pods that hold room or wait for it by their workloads, and what is not so among them."""
    deployments = {
        key_of(one): owner["name"]
        for one in found.of("ReplicaSet")
        for owner in one["metadata"].get("ownerReferences") or ()
        if owner.get("controller") and owner["kind"] == "Deployment"
    }
    listed = {one["metadata"]["name"] for one in found.of("Node")}
    families = defaultdict[tuple[str, str, str], list[Manifest]](list)
    notes = defaultdict[str, list[str]](list)
    # Those with numbers come in the numbers' order.
    for pod in sorted(found.of("Pod"), key=lambda one: (key_of(one)[0], len(key_of(one)[1]), key_of(one)[1])):
        if (pod.get("status") or {}).get("phase") in FINISHED:
            continue
        name, node = "/".join(key_of(pod)), node_of(pod)
        kind, namespace, owner = _find_family(pod, deployments)
        if node and node not in listed:
            notes[_UNLISTED].append(f"{name} on {node}")
            continue
        if pod["metadata"].get("deletionTimestamp"):
            evicted = read_pod(pod).disruption == "DeletionByDeviceTaintManager"
            if evicted or not node:
                notes[_EVICTED if evicted else _LEAVING_UNBOUND].append(name)
                continue
            notes[_LEAVING].append(name)
            kind, owner = "Pod", f"{owner}-leaving"
        resized = _count_resize(pod)
        if resized is not pod:
            notes[_RESIZED].append(name)
        families[kind, namespace, owner].append(resized)
    claims, allocations = {key_of(one): one for one in found.of("PersistentVolumeClaim")}, read_allocations(found)
    workloads = list[CapturedWorkload]()
    for (kind, namespace, name), pods in families.items():
        devices = {pod["metadata"]["name"]: list_pod_devices(pod, allocations) for pod in pods}
        split = [
            replace(one, devices=tuple(map(devices.__getitem__, one.pods)))
            for one in _split(kind, namespace, name, pods, claims)
        ]
        if len(split) > 1 and kind != "Pod":
            notes[_REVISIONS].append(f"{namespace}/{name}")
        workloads += split
        if any(None in one.devices for one in split):
            notes[_DEVICES].append(f"{namespace}/{name}")
    return _number_names(workloads), notes


def _find_family(pod: Manifest, deployments: Mapping[tuple[str, str], str]) -> tuple[str, str, str]:
    """Return kind, namespace and name of who brings the pod again; bare pods with equal names are a family."""
    seen = read_pod(pod)
    if seen.owner_kind not in CONTROLLERS:
        name = str(pod["metadata"].get("generateName") or seen.name)
        return "Pod", seen.namespace, re.sub(r"[-.]?\d*[-.]*$", "", name) or name
    if seen.owner_kind == "ReplicaSet" and (seen.namespace, seen.owner_name) in deployments:
        return "Deployment", seen.namespace, deployments[seen.namespace, seen.owner_name]
    # A list of pods alone names the ReplicaSet, which is named after its Deployment.
    kind, name = seen.top
    return kind, seen.namespace, name


def _split(
    kind: str, namespace: str, name: str, pods: list[Manifest], claims: Mapping[tuple[str, str], Manifest]
) -> Iterator[CapturedWorkload]:
    """Yield the pods of a controller, apart where they are not equal."""
    alike = dict[str, tuple[CapturedWorkload, list[Manifest]]]()
    for pod in pods:
        spec, templates = _take_own(kind, pod, claims)
        labels = {k: value for k, value in (pod["metadata"].get("labels") or {}).items() if k not in _MADE_LABELS}
        one = CapturedWorkload(kind, namespace, name, labels, spec, (), (), claims=templates)
        alike.setdefault(one.pod_key, (one, []))[1].append(pod)
    for number, (one, ones) in enumerate(alike.values(), 1):
        made = replace(
            one,
            name=name if number == 1 else f"{name}-{number}",
            pods=tuple(pod["metadata"]["name"] for pod in ones),
            nodes=tuple(map(node_of, ones)),
            messages=tuple(read_pod(pod).waiting_message for pod in ones if not node_of(pod)),
        )
        if kind == "DaemonSet" and len(alike) > 1:
            # Each of its pods is on the node that it is held to.
            here = sorted({node_of(pod) or _pinned_to(pod["spec"]) for pod in ones} - {""})
            made = replace(made, spec=require(one.spec, {"key": HOSTNAME, "operator": "In", "values": here}))
        yield made


def _take_own(
    kind: str, pod: Manifest, claims: Mapping[tuple[str, str], Manifest]
) -> tuple[Manifest, tuple[Manifest, ...]]:
    """Return the spec that a controller's pods share, and templates of their claims."""
    spec = reduce_pod_spec(_undo_merging(pod["spec"]))
    volumes, own = spec.pop("volumes", []), list[Manifest]()
    if kind == "DaemonSet":
        affinity = spec.pop("affinity", {})
        on_nodes = affinity.get("nodeAffinity") or {}
        terms = (on_nodes.get(REQUIRED) or {}).get("nodeSelectorTerms", ())
        rest = [one for term in terms if (one := _without(term, "matchFields"))]
        on_nodes = _without(on_nodes, REQUIRED) | ({REQUIRED: {"nodeSelectorTerms": rest}} if rest else {})
        affinity = _without(affinity, "nodeAffinity") | only_filled(nodeAffinity=on_nodes)
        spec |= only_filled(affinity=affinity)
    elif kind == "StatefulSet":
        namespace, name = key_of(pod)
        for volume in [*volumes]:
            claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
            if claim == f"{volume['name']}-{name}":
                volumes.remove(volume)
                asked = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
                claimed = asked | _without(claims.get((namespace, claim), {}).get("spec", {}), "volumeName")
                own.append({"metadata": {"name": volume["name"]}, "spec": claimed})
    elif kind == "Pod" and pod["metadata"].get("deletionTimestamp"):
        # A pod in its place may have the claim by now, and it is bound as it is.
        volumes = [one for one in volumes if "persistentVolumeClaim" not in one]
    return spec | only_filled(volumes=volumes), tuple(own)


def _pinned_to(spec: Mapping[str, Any]) -> str:
    """Return the node that a DaemonSet's pod is for; empty if it does not say."""
    on_nodes = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (on_nodes.get(REQUIRED) or {}).get("nodeSelectorTerms") or ()
    values = [value for term in terms for one in term.get("matchFields") or () for value in one.get("values") or ()]
    return str(values[0]) if values else ""


def require(spec: Manifest, expression: Mapping[str, Any]) -> Manifest:
    """Return a pod's spec that requires something more of its node."""
    affinity = spec.get("affinity") or {}
    on_nodes = affinity.get("nodeAffinity") or {}
    terms = (on_nodes.get(REQUIRED) or {}).get("nodeSelectorTerms") or [{}]
    terms = [{**one, "matchExpressions": [*one.get("matchExpressions", ()), dict(expression)]} for one in terms]
    return {**spec, "affinity": {**affinity, "nodeAffinity": {**on_nodes, REQUIRED: {"nodeSelectorTerms": terms}}}}


def _count_resize(pod: Manifest) -> Manifest:
    """Return a pod that requests what the scheduler counts while it is resized: the most of asked, allocated and real.

    What is asked for does not count where it is infeasible.
    """
    status = pod.get("status") or {}
    statuses = {one["name"]: one for one in status.get("containerStatuses") or ()}
    conditions = status.get("conditions") or ()
    infeasible = any(one["type"] == "PodResizePending" and one.get("reason") == "Infeasible" for one in conditions)
    containers, changed = list[Manifest](), False
    for container in pod["spec"]["containers"]:
        resources, known = container.get("resources") or {}, statuses.get(container["name"], {})
        asked, limits = resources.get("requests") or {}, dict(resources.get("limits") or {})
        counted, inner = dict(asked), known.get("resources") or {}
        for name in asked if node_of(pod) else ():
            found = (known.get("allocatedResources") or {}, inner.get("requests") or {})
            real = [one[name] for one in found if name in one]
            most = max(real if infeasible and real else [asked[name], *real], key=_size)
            if _size(most) != _size(asked[name]):
                counted[name], changed = most, True
            if name in limits:
                limits[name] = max(limits[name], counted[name], key=_size)
        resources = {**resources, "requests": counted, **only_filled(limits=limits)}
        containers.append({**container, "resources": resources})
    return {**pod, "spec": {**pod["spec"], "containers": containers}} if changed else pod


def _size(quantity: Any) -> Decimal:
    return amount(str(quantity))


def _undo_merging(spec: Any) -> Any:
    """Return a spec without what the server wrote into selectors for each key in ``matchLabelKeys``."""
    if isinstance(spec, list):
        return [_undo_merging(one) for one in spec]
    if not isinstance(spec, dict):
        return spec
    inner = {key: _undo_merging(value) for key, value in spec.items()}
    merged = {*(inner.get("matchLabelKeys") or ()), *(inner.get("mismatchLabelKeys") or ())}
    selector = inner.get("labelSelector")
    if merged and selector and selector.get("matchExpressions"):
        rest = [one for one in selector["matchExpressions"] if one["key"] not in merged]
        inner["labelSelector"] = _without(selector, "matchExpressions") | ({"matchExpressions": rest} if rest else {})
    return inner


def _number_names(workloads: Iterable[CapturedWorkload]) -> list[CapturedWorkload]:
    """Return the workloads with names of their own, in which a word of the language fits."""
    workloads = list(workloads)
    many = len({one.namespace for one in workloads}) > 1
    named = dict[str, CapturedWorkload]()
    for one in workloads:
        word = f"{one.namespace}-{one.name}" if many else one.name
        word = re.sub(r"[^a-z0-9]+", "-", word.lower())[: LONGEST_LABEL - 12].strip("-")
        name, number = word, 2
        while name in named:
            name, number = f"{word}-{number}", number + 1
        named[name] = replace(one, name=name)
    return list(named.values())


def _without(value: Mapping[str, Any], *names: str) -> Manifest:
    return {key: one for key, one in value.items() if key not in names}
