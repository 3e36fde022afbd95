"""A cluster as a scenario: everything that was found, in its parts, and equal nodes as one kind."""

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any

from stowage_testbed.amounts.resources import PODS, Resources
from stowage_testbed.api.client import Manifest
from stowage_testbed.api.kinds import DEFINITION
from stowage_testbed.api.label_selector import selects
from stowage_testbed.capture.devices import describe_devices
from stowage_testbed.capture.reading import Found, key_of
from stowage_testbed.capture.workloads import HOSTNAME, LACKING, CapturedWorkload, Notes, capture_pods, require
from stowage_testbed.cluster.components import HOST_TAINT
from stowage_testbed.cluster.devices import Devices, make_classes
from stowage_testbed.cluster.node_pool import ZONE_LABEL, NodePool, Taint
from stowage_testbed.observe.node import read_node
from stowage_testbed.scenario.arrivals.one_namespace import OneNamespace
from stowage_testbed.scenario.manifests import name_priority_class
from stowage_testbed.trace.reducing import reduce_object

INSTANCE_TYPE = "node.kubernetes.io/instance-type"

OF_CONDITIONS = {
    f"node.kubernetes.io/{name}": f"stowage.dev/{'not-ready' if name == 'unreachable' else name}"
    for name in ("not-ready", "unreachable", "memory-pressure", "disk-pressure", "pid-pressure", "network-unavailable")
}
"""Taints that the node controller takes off a fake node, whose conditions are good, and what is in their place."""

_ALWAYS = frozenset({ZONE_LABEL, "topology.kubernetes.io/region", "kubernetes.io/arch", INSTANCE_TYPE})
_LONGEST_PREFIX = 40
_ATTACHED = "attachable-volumes-"
_LETTERS = "bcdefghijklmnopqrstuvwxyz"
_PLACE_KEYS = frozenset({"kubernetes.io/hostname", "topology.hostpath.csi/node", "metadata.name"})
"""Keys whose values are names of nodes."""

_OF_VOLUME = ("accessModes", "capacity", "csi", "nodeAffinity", "storageClassName")


@dataclass(frozen=True, slots=True)
class Capture:
    """What a scenario has of a cluster: manifests in order, quotas for after the pods, and notes on what is not so."""

    pools: tuple[NodePool, ...]
    nodes: Mapping[str, str]
    """Their new names by the old ones."""
    cordoned: tuple[str, ...]
    workloads: tuple[CapturedWorkload, ...]
    objects: tuple[Manifest, ...]
    quotas: tuple[Manifest, ...]
    notes: Notes

    @property
    def pods(self) -> int:
        """How many pods there are."""
        return sum(len(one.pods) for one in self.workloads)

    @property
    def pending(self) -> int:
        """How many of them have no node."""
        return sum(one.pending for one in self.workloads)


def capture(found: Found) -> Capture:
    """Return what scheduling depends on, nodes and workloads under their new names."""
    workloads, of_pods = capture_pods(found)
    asking = ("PersistentVolume", "StorageClass", "RuntimeClass", "ResourceSlice")
    bodies = [*(one.spec for one in workloads), *(one for kind in asking for one in found.of(kind))]
    devices = describe_devices(found)
    pools, names, cordoned = capture_nodes(found.of("Node"), {HOSTNAME, *_list_asked(bodies)}, devices)
    used = {one.namespace for one in workloads}
    labels = {one["metadata"]["name"]: one["metadata"].get("labels") or {} for one in found.of("Namespace")}
    in_one = OneNamespace({**{name: {} for name in used}, **labels}, used)
    objects = ObjectCapture(found, workloads, names, in_one, devices)
    notes = {**of_pods, **objects.notes} | {f"{LACKING}{kind}s, which may not be listed": () for kind in found.unread}
    if found.unreadable:
        notes[f"{LACKING}{found.unreadable} items that are no Kubernetes objects"] = ()
    taints = {taint.key for pool in pools for taint in pool.taints} & {*OF_CONDITIONS.values()}
    classes = {one["metadata"]["name"] for one in found.of("RuntimeClass")}
    settled = tuple(_settle(one, names, sorted(taints), classes, in_one) for one in workloads)
    return Capture(pools, names, cordoned, settled, tuple(objects.manifests), tuple(objects.quotas), notes)


def _settle(
    one: CapturedWorkload, names: Mapping[str, str], taints: list[str], classes: set[str], in_one: OneNamespace
) -> CapturedWorkload:
    """Return a workload in the one namespace, on the nodes as they are called now."""
    pod = in_one.rewrite_pod(one.namespace, {"metadata": {"labels": one.labels}, "spec": one.spec})
    spec: dict[str, Any] = rename_nodes(pod["spec"], names)
    spec.pop("schedulerName", None)
    spec.pop("overhead", None)  # Admission gives it to the pod again
    if spec.get("runtimeClassName") not in classes:
        spec.pop("runtimeClassName", None)
    if one.kind == "DaemonSet":
        # Many tolerate every taint: they are kept off the node that a run has besides.
        spec = require(spec, {"key": HOST_TAINT, "operator": "DoesNotExist"})
    # In the place of taints that a pod tolerates are others.
    tolerated = {
        OF_CONDITIONS.get(each.get("key", ""))
        for each in spec.get("tolerations") or ()
        if (each.get("effect") or "NoSchedule") == "NoSchedule"
    }
    more = [{"key": key, "operator": "Exists"} for key in taints if one.kind == "DaemonSet" or key in tolerated]
    if more:
        spec["tolerations"] = [*spec.get("tolerations", ()), *more]
    nodes = tuple(names.get(node, "") for node in one.nodes)
    return replace(one, labels=dict(pod["metadata"]["labels"]), spec=spec, nodes=nodes)


def _list_asked(value: Any) -> Iterator[str]:
    """Yield the labels of nodes that something asks about."""
    if isinstance(value, list):
        for one in value:
            yield from _list_asked(one)
    elif isinstance(value, dict):
        yield from (value[name] for name in ("key", "topologyKey") if isinstance(value.get(name), str))
        if isinstance(value.get("nodeSelector"), dict):
            yield from value["nodeSelector"]
        yield from _list_asked([*value.values()])


def capture_nodes(
    nodes: Iterable[Manifest], read_labels: Collection[str], devices: Mapping[str, tuple[Devices, ...]] = {}
) -> tuple[tuple[NodePool, ...], dict[str, str], tuple[str, ...]]:
    """Return the nodes folded into kinds, their new names by the old ones, and the new names of those cordoned.

    They have no labels that nothing asks about and not every cluster has.
    """
    alike = defaultdict[tuple[Any, ...], list[tuple[str, str]]](list)
    closed = set[str]()
    for body in sorted(nodes, key=lambda one: str(one["metadata"]["name"])):
        name, node = str(body["metadata"]["name"]), read_node(body)
        labels = {
            key: value
            for key, value in node.labels.items()
            if key in _ALWAYS or (key in read_labels and key != HOSTNAME)
        }
        zone = labels.pop(ZONE_LABEL, "")
        offered = {key: amount for key, amount in node.allocatable.items() if not key.startswith(_ATTACHED)}
        # Amounts of nothing are no offer.
        room = Resources({key: size for key, size in Resources.of_list(offered).items() if size or key == PODS})
        alike[tuple(sorted(labels.items())), _read_taints(node.taints), room, devices.get(name, ())].append(
            (name, zone)
        )
        if node.unschedulable:
            closed.add(name)
    pools, names = list[NodePool](), dict[str, str]()
    for (labels, taints, room, owned), ones in alike.items():
        for zones, members in _deal_zones(ones):
            pool = NodePool(
                name_prefix=_choose_prefix(dict(labels), members, pools),
                count=len(members),
                resources=room,
                labels=dict(labels),
                taints=taints,
                zones=zones,
                devices=owned,
            )
            pools.append(pool)
            names |= dict(zip(members, pool.node_names(), strict=True))
    return tuple(pools), names, tuple(sorted(names[one] for one in closed))


def _read_taints(taints: Iterable[Mapping[str, Any]]) -> tuple[Taint, ...]:
    found = {
        # What runs there is to stay, also where a node is silent.
        Taint(OF_CONDITIONS[one["key"]], "NoSchedule")
        if one["key"] in OF_CONDITIONS
        else Taint(one["key"], one["effect"], one.get("value", ""))
        for one in taints
    }
    return tuple(sorted(found, key=lambda one: (one.key, one.effect, one.value)))


def _deal_zones(ones: Iterable[tuple[str, str]]) -> Iterable[tuple[tuple[str, ...], list[str]]]:
    """Return zones and nodes of each kind: one with all zones if they can be dealt."""
    by_zone = defaultdict[str, list[str]](list)
    for name, zone in ones:
        by_zone[zone].append(name)
    # Dealt out in turn, the last round may not reach all of them.
    zones = sorted(by_zone, key=lambda zone: (-len(by_zone[zone]), zone))
    most, least = len(by_zone[zones[0]]), len(by_zone[zones[-1]])
    if "" not in by_zone and most - least <= 1:
        rounds = zip_longest(*(by_zone[zone] for zone in zones))
        return [(tuple(zones), [name for one in rounds for name in one if name])]
    return [((zone,) if zone else (), by_zone[zone]) for zone in zones]


def _choose_prefix(labels: Mapping[str, str], members: list[str], pools: Iterable[NodePool]) -> str:
    """Return what a kind of node is called: by its type, or by what names share."""
    word = labels.get(INSTANCE_TYPE) or os.path.commonprefix(members)  # noqa: RUF071 - as texts
    if len(members) == 1 and INSTANCE_TYPE not in labels:
        word = re.sub(r"[-0-9]+$", "", word)
    plain = re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")[:_LONGEST_PREFIX]
    prefix = plain.strip("-") or "node"
    taken = {pool.name_prefix for pool in pools}
    # With a number a prefix would look like a node's name.
    letters = (*_LETTERS, *(one + other for one in _LETTERS for other in _LETTERS))
    return next(one for one in (prefix, *(f"{prefix}-{letter}" for letter in letters)) if one not in taken)


class ObjectCapture:
    """The objects that pods depend on, without namespaces; nodes are called by their new names."""

    def __init__(
        self,
        found: Found,
        workloads: Sequence[CapturedWorkload],
        node_names: Mapping[str, str],
        in_one: OneNamespace,
        devices: Mapping[str, tuple[Devices, ...]],
    ) -> None:
        self._found = found
        self._devices = devices
        self._workloads = workloads
        self._node_names = node_names
        self._in_one = in_one
        self.notes: dict[str, Sequence[str]] = {}
        self.manifests = list(self._list_all())
        """In an order in which they can be made."""
        self.quotas = list(self._list_quotas())
        """For after the pods."""
        if foreign := found.foreign():
            self.notes[f"{LACKING}kinds that Kubernetes' scheduler does not know"] = foreign

    def _list_all(self) -> Iterator[Manifest]:
        found = self._found
        for definition in map(_strip, found.of(DEFINITION)):
            # Nobody answers here who could convert.
            yield {**definition, "spec": {**definition["spec"], "conversion": {"strategy": "None"}}}
        classes = {one.spec.get("runtimeClassName") for one in self._workloads}
        yield from (_strip(one) for one in found.of("RuntimeClass") if one["metadata"]["name"] in classes)
        yield from self._list_storage()
        yield from self._list_devices()
        for one in found.of("PodDisruptionBudget"):
            # A budget comes if some pods count for it; without a selector it is of no pod.
            selector = one["spec"].get("selector")
            inside = (each for each in self._workloads if each.namespace == key_of(one)[0])
            if selector is not None and any(selects(selector, each.labels) for each in inside):
                yield self._move(one)
        yield from (self._move(one) for one in (*found.of("PodGroup"), *found.of_asked()))

    def _move(self, one: Manifest) -> Manifest:
        return _strip(self._in_one.rewrite(one))

    def _list_quotas(self) -> Iterator[Manifest]:
        """Yield quotas; of classes of priority they name those that a run makes."""
        quotas = self._found.of("ResourceQuota")
        if self._in_one.apart and quotas:
            self.notes[f"{LACKING}{len(quotas)} quotas, which are of one namespace each"] = ()
            return
        priorities = self._found.of("PriorityClass")
        classes = {one["metadata"]["name"]: name_priority_class(int(one["value"])) for one in priorities}
        for quota in map(_strip, quotas):
            for one in (quota["spec"].get("scopeSelector") or {}).get("matchExpressions") or ():
                if one.get("scopeName") == "PriorityClass":
                    one["values"] = [classes.get(v, v) for v in one.get("values") or ()]
            yield quota

    def _list_storage(self) -> Iterator[Manifest]:
        """Yield claims of the pods, their volumes and classes, and limits of nodes."""
        claims = {key_of(one): one for one in self._found.of("PersistentVolumeClaim")}
        volumes = {one["metadata"]["name"]: one for one in self._found.of("PersistentVolume")}
        inline = (volume for one in self._workloads for volume in one.spec.get("volumes", ()))
        drivers = {(volume.get("csi") or {}).get("driver") for volume in inline}
        made, used, unknown = list[Manifest](), dict[str, None](), 0
        for old, new in self._pair_claims():
            if (claim := claims.get(old)) is None:
                unknown += 1
                continue
            reduced, spec = _strip(claim), claim["spec"]
            reduced["metadata"]["name"] = new
            used[str(spec.get("storageClassName") or "")] = None
            if volume := volumes.get(spec.get("volumeName", "")):
                # Its claim, which names it, is bound to it again.
                body = _strip(volume)
                again = {key: body["spec"][key] for key in _OF_VOLUME if key in body["spec"]}
                if "csi" not in again:
                    again["hostPath"] = {"path": "/volumes"}
                again["persistentVolumeReclaimPolicy"] = "Retain"
                yield {**body, "spec": rename_nodes(again, self._node_names)}
                drivers.add((volume["spec"].get("csi") or {}).get("driver"))
            elif spec.get("volumeName"):
                unknown += 1
                reduced["spec"] = {key: value for key, value in spec.items() if key != "volumeName"}
            made.append(reduced)
        classes = {one["metadata"]["name"]: one for one in self._found.of("StorageClass")}
        yield from (_strip(classes[one]) for one in used if one in classes)
        yield from made
        for one in self._found.of("CSINode"):
            # What nodes can attach of the drivers that are used.
            limits = [driver for driver in one["spec"].get("drivers") or () if driver["name"] in drivers]
            if limits and (name := self._node_names.get(one["metadata"]["name"])):
                spec = {"drivers": [{**driver, "nodeID": name} for driver in limits]}
                yield {**_strip(one), "metadata": {"name": name}, "spec": spec}
        if unknown:
            self.notes[f"{LACKING}{unknown} claims or volumes that were not among what was read"] = ()

    def _pair_claims(self) -> Iterator[tuple[tuple[str, str], str]]:
        """Yield the old namespace and name of each claim, and its new name."""
        shared = dict[tuple[str, str], str]()
        for one in self._workloads:
            for volume in one.spec.get("volumes", ()):
                if claim := (volume.get("persistentVolumeClaim") or {}).get("claimName"):
                    shared[one.namespace, claim] = self._in_one.name(one.namespace, claim)
            for template in one.claims:
                name = template["metadata"]["name"]
                for number, pod in enumerate(one.pods):
                    yield (one.namespace, f"{name}-{pod}"), f"{name}-{one.name}-{number}"
        yield from shared.items()

    def _list_devices(self) -> Iterator[Manifest]:
        """Yield classes, slices and claims that neither the nodes bring nor the pods."""
        brought = {one["metadata"]["name"] for one in make_classes(chain.from_iterable(self._devices.values()))}
        classes = self._found.of("DeviceClass")
        yield from (self._move(one) for one in classes if one["metadata"]["name"] not in brought)
        namespaces = {one.namespace for one in self._workloads}
        templates = self._found.of("ResourceClaimTemplate")
        yield from (self._move(one) for one in templates if key_of(one)[0] in namespaces)
        for one in map(self._move, self._found.of("ResourceSlice")):
            spec, node = one["spec"], one["spec"].get("nodeName")
            if node in self._devices:
                continue
            if node:
                name = self._node_names.get(node, node)
                pool = {**spec["pool"], "name": name if spec["pool"]["name"] == node else spec["pool"]["name"]}
                spec = {**spec, "nodeName": name, "pool": pool}
            yield {**one, "spec": spec}
        for one in map(self._move, self._found.of("DeviceTaintRule")):
            selector = dict(one["spec"].get("deviceSelector") or {})
            if of := selector.get("pool"):
                selector["pool"] = self._node_names.get(of, of)
            yield {**one, "spec": {**one["spec"], "deviceSelector": selector}}
        claims = self._found.of("ResourceClaim")
        yield from (self._move(one) for one in claims if not one["metadata"].get("ownerReferences"))


def rename_nodes(value: Any, names: Mapping[str, str]) -> Any:
    """Return plain values in which requirements name nodes as they are called now."""
    if isinstance(value, list):
        return [rename_nodes(one, names) for one in value]
    if not isinstance(value, dict):
        return value
    if value.get("key") in _PLACE_KEYS and "values" in value:
        return {**value, "values": [names.get(one, one) for one in value["values"]]}
    return {
        key: names.get(one, one) if key in _PLACE_KEYS and isinstance(one, str) else rename_nodes(one, names)
        for key, one in value.items()
    }


def _strip(one: Manifest) -> Manifest:
    """Return an object without what the server made, and without a namespace."""
    reduced = reduce_object(one)
    metadata = {key: value for key, value in reduced["metadata"].items() if key not in {"namespace", "annotations"}}
    return {**reduced, "metadata": metadata}
