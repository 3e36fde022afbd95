"""The inventory of a cluster: its objects, without the fields that no plugin reads."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.base.errors import InputError
from stowage_testbed.observe.device_claims import IMPLICIT_DOMAIN
from stowage_testbed.observe.pod import FINISHED
from stowage_testbed.observe.pod_group import POD_GROUP, POD_GROUP_VERSION
from stowage_testbed.simulate.instance import Remark
from stowage_testbed.toolchain.manifest import nearest_minor
from stowage_testbed.whatif.findings import Elsewhere

Manifest = Mapping[str, Any]

STOCK_NAME = "default-scheduler"

_OBJECTS = yaml.safe_load((Path(__file__).parent / "objects.yaml").read_text(encoding="utf-8"))
FURTHER: Mapping[str, str] = _OBJECTS["kinds"]
"""Kinds that are read where it is allowed, and what cannot be judged without each."""

DEVICE_KINDS = frozenset({"DeviceClass", "DeviceTaintRule", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"})
"""Kinds that nobody misses where no pod claims a device."""

GROUP_FIELD = "schedulingGroup"
"""Of a pod's spec: which group it is in. Where no pod is in one, nobody misses PodGroups."""

VERSIONS = {
    **{kind: f"resource.k8s.io/v1/{kind}" for kind in DEVICE_KINDS},
    POD_GROUP: f"{POD_GROUP_VERSION}/{POD_GROUP}",
}
"""Kinds whose older versions read otherwise, or of which other groups have one of that name; the others have had one
for long."""

DEVICE_CLASS = "DeviceClass"

_GROUPS = frozenset({"apiextensions.k8s.io", "node.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io"})
"""Kubernetes' own groups with a dot; of another group, a kind of the same name is another kind."""

_EACH = "[]"
_Fields = dict[str, Any]  # Fields to drop: ``None``, or what to drop of their parts; `_EACH` is each element of a list


def _fields(kind: str) -> _Fields:
    """Return the fields to drop of a kind, which the file names as in ``spec.containers[].env``."""
    fields: _Fields = {}
    for path in (*_OBJECTS["drop"].get(kind, ()), *_OBJECTS["drop_of_all"]):
        *steps, last = path.replace(_EACH, f".{_EACH}").split(".")
        place = fields
        for step in steps:
            place = place.setdefault(step, {})
        place[last] = None
    fields["metadata"]["annotations"] = dict.fromkeys(_OBJECTS["drop_annotations"])
    return fields


_DROPPED = {kind: _fields(kind) for kind in ("Node", "Pod", *FURTHER)}


@dataclass(frozen=True, slots=True)
class Inventory:
    """A cluster's objects, without pods that have ended and fields that no plugin reads.

    ``objects`` affect placements besides nodes and pods; ``unread`` could not be read, in words; ``left_out`` have no
    name. The version is empty if nothing says it.
    """

    nodes: tuple[Manifest, ...]
    pods: tuple[Manifest, ...]
    objects: tuple[Manifest, ...] = ()
    unread: tuple[str, ...] = ()
    left_out: tuple[Remark, ...] = ()
    version: str = ""

    @property
    def minor(self) -> str:
        """The minor of Kubernetes whose scheduler judges plans."""
        return nearest_minor(self.version)


def inventory_of(objects: Iterable[Manifest], unread: Iterable[str] = (), left_out: Iterable[Remark] = ()) -> Inventory:
    """Return the inventory of objects; ``unread`` are kinds of `FURTHER`, and of two equal names the later one counts.

    Raises an InputError if there are no nodes or no pods.
    """
    found = dict[tuple[str, str, str], Manifest]()
    refused = list(left_out)
    for one in map(reduced, objects):
        kind, metadata = one["kind"], one.get("metadata")
        if kind not in _DROPPED:
            continue
        if not isinstance(metadata, dict) or not metadata.get("name"):
            refused.append(Remark(f"a {kind}", "metadata.name: missing"))
            continue
        found[kind, str(metadata.get("namespace")), str(metadata["name"])] = one
    nodes = [one for one in found.values() if one["kind"] == "Node"]
    pods = [
        one for one in found.values() if one["kind"] == "Pod" and part_of(one, "status").get("phase") not in FINISHED
    ]
    for there, plural in ((nodes, "nodes"), (pods, "pods")):
        if not there:
            raise InputError(
                f"there are no {plural} in what was read; what-if needs at least the "
                "cluster's nodes and pods, of all namespaces"
            )
    waiting = [spec for pod in pods if not (spec := part_of(pod, "spec")).get("nodeName")]
    images = {str(container.get("image", "")) for spec in waiting for container in _containers(spec)}
    # The scheduler looks for images without a tag under that one.
    images |= {f"{image}:latest" for image in images}
    unlisted = unlisted_resources(nodes, pods)
    claims = any(part_of(pod, "spec").get("resourceClaims") for pod in pods)
    grouped = any(part_of(pod, "spec").get(GROUP_FIELD) for pod in pods)
    serving = any(one["kind"] == DEVICE_CLASS for one in found.values())
    missed = [
        FURTHER[kind]
        for kind in unread
        if (claims or kind not in DEVICE_KINDS or (unlisted and (kind == DEVICE_CLASS or serving)))
        and (grouped or kind != POD_GROUP)
    ]
    return Inventory(
        tuple(_with_images(node, images) for node in sorted(nodes, key=_name)),
        tuple(sorted(pods, key=_queue_order)),
        tuple(one for one in found.values() if one["kind"] in FURTHER),
        tuple(dict.fromkeys(missed)),
        tuple(refused),
        _newest_version(nodes),
    )


def unlisted_resources(nodes: Iterable[Manifest], pods: Iterable[Manifest]) -> dict[str, str]:
    """Return, by UID of the pods that ask for one, an extended resource that no node lists."""
    listed = {
        name
        for node in nodes
        for name, amount in part_of(part_of(node, "status"), "allocatable").items()
        if str(amount) != "0"
    }
    found = dict[str, str]()
    for pod in pods:
        for container in _containers(part_of(pod, "spec")):
            resources = part_of(container, "resources")
            for name in (*part_of(resources, "requests"), *part_of(resources, "limits")):
                domain, slash, _ = name.partition("/")
                native = domain == "kubernetes.io" or domain.endswith(".kubernetes.io")
                extended = slash and (not native or domain == IMPLICIT_DOMAIN)
                if extended and name not in listed:
                    found.setdefault(uid_of(pod), name)
    return found


def kind_of(one: Manifest) -> str:
    """Return an object's kind, with the group where that is nobody's of Kubernetes: ``Node.longhorn.io``."""
    group = str(one.get("apiVersion") or "").rpartition("/")[0]
    return f"{one['kind']}.{group}" if "." in group and group not in _GROUPS else str(one["kind"])


def reduced(one: Manifest) -> Manifest:
    """Return an object without what no plugin reads; of unknown kinds only the kind."""
    kind = kind_of(one)
    fields = _DROPPED.get(kind)
    return {"kind": kind} if fields is None else _without(one, fields)


def part_of(one: Manifest, name: str) -> Manifest:
    """Return a part of an object, empty where it is none."""
    found = one.get(name)
    return found if isinstance(found, dict) else {}


def elements(one: Manifest, name: str) -> Iterator[Manifest]:
    """Yield the objects of a list; nothing else that may stand there."""
    found = one.get(name)
    return (element for element in (found if isinstance(found, list) else ()) if isinstance(element, dict))


def _containers(spec: Manifest) -> Iterator[Manifest]:
    return chain(elements(spec, "containers"), elements(spec, "initContainers"))


def uid_of(pod: Manifest) -> str:
    """Return the UID that the pod has in a snapshot."""
    meta = pod["metadata"]
    return str(meta.get("uid") or f"{meta.get('namespace', 'default')}/{meta['name']}")


def labels_of(one: Manifest) -> Manifest:
    """Return an object's labels."""
    return part_of(one["metadata"], "labels")


def _newest_version(nodes: Iterable[Manifest]) -> str:
    """Return the newest kubelet's version: no API server is older than that."""
    told = (str(part_of(part_of(node, "status"), "nodeInfo").get("kubeletVersion", "")) for node in nodes)
    versions = [one for one in told if re.match(r"v\d+\.\d+", one)]
    return max(versions, key=lambda one: [*map(int, re.findall(r"\d+", one))], default="")


def _without(value: Any, fields: _Fields) -> Any:
    """Return plain JSON without the fields; what has another shape stays as it is."""
    if isinstance(value, list) and _EACH in fields:
        return [_without(one, fields[_EACH]) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _without(part, fields[name]) if name in fields else part
        for name, part in value.items()
        if fields.get(name, _EACH) is not None
    }


def _with_images(node: Manifest, wanted: set[str]) -> Manifest:
    """Return a node with those of its images, of which a kubelet reports fifty, that pods wait for."""
    status = part_of(node, "status")
    if not isinstance(status.get("images"), list):
        return node
    images = [
        one
        for one in elements(status, "images")
        if isinstance(one.get("names"), list) and not wanted.isdisjoint(map(str, one["names"]))
    ]
    return {**node, "status": {**status, "images": images}}


def _name(one: Manifest) -> str:
    return str(one["metadata"]["name"])


def _queue_order(pod: Manifest) -> tuple[int, str, str, str]:
    meta, priority = pod["metadata"], part_of(pod, "spec").get("priority")
    number = priority if isinstance(priority, int) else 0
    return -number, str(meta.get("creationTimestamp", "")), str(meta.get("namespace", "")), _name(pod)


NAMESPACE_NAME = "kubernetes.io/metadata.name"  # The one label of a namespace that is known without reading it
SELECTS_NAMESPACES = "it selects namespaces by label, and what labels they have was not read"
ASKS_FOR_DEVICES = (
    "it asks for {}, which no node lists, and what device classes and their devices there are was not read"
)
CLAIMS_DEVICES = "it claims devices, and not all that is said of devices was read"

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_FOREIGN = "not-judged/"


def shown_pods(inventory: Inventory, schedulers: Collection[str]) -> tuple[Manifest, ...]:
    """Return the pods as the simulated scheduler, which has the stock one's name, is to see them."""

    def shown(pod: Manifest) -> Manifest:
        name, spec = scheduler_of(pod), pod.get("spec")
        alias = STOCK_NAME if name in schedulers else _FOREIGN + name if name == STOCK_NAME else name
        if not isinstance(spec, dict) or spec.get("schedulerName") == alias:
            return pod
        return {**pod, "spec": {**spec, "schedulerName": alias}}

    return tuple(map(shown, inventory.pods))


def waiting_elsewhere(inventory: Inventory, schedulers: Collection[str]) -> tuple[Elsewhere, ...]:
    """Return who waits for a node, and for nothing else, of another scheduler."""
    others = Counter(
        name
        for pod in inventory.pods
        if (name := scheduler_of(pod)) not in schedulers
        and not (part_of(pod, "spec").get("nodeName") or part_of(pod, "spec").get("schedulingGates"))
        and not pod["metadata"].get("deletionTimestamp")
    )
    return tuple(Elsewhere(*one) for one in sorted(others.items()))


def unreadable_needs(inventory: Inventory) -> dict[str, str]:
    """Return why some pods, by UID, are not judged: what they ask for was not read."""
    found = dict[str, str]()
    of_devices = {FURTHER[kind] for kind in DEVICE_KINDS - {"DeviceTaintRule"}}  # without these, there is only more
    if not of_devices.isdisjoint(inventory.unread):
        unlisted = unlisted_resources(inventory.nodes, inventory.pods)
        found |= {uid: ASKS_FOR_DEVICES.format(resource) for uid, resource in unlisted.items()}
        claiming = (pod for pod in inventory.pods if part_of(pod, "spec").get("resourceClaims"))
        found |= {uid_of(pod): CLAIMS_DEVICES for pod in claiming}
    if FURTHER["Namespace"] in inventory.unread:
        found |= {uid_of(pod): SELECTS_NAMESPACES for pod in inventory.pods if _selects_namespaces(pod)}
    return found


def scheduler_of(pod: Manifest) -> str:
    """Return the name of the scheduler that a pod is for."""
    return str(part_of(pod, "spec").get("schedulerName") or STOCK_NAME)


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
