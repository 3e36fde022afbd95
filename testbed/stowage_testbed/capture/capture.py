"""A cluster as a scenario: everything that was found, in its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from stowage_testbed.api.client import Manifest
from stowage_testbed.capture.nodes import OF_CONDITIONS, capture_nodes
from stowage_testbed.capture.objects import ObjectCapture, rename_nodes
from stowage_testbed.capture.reading import Found
from stowage_testbed.capture.workloads import HOSTNAME, CapturedWorkload, Note, capture_pods, require
from stowage_testbed.cluster.components import HOST_TAINT
from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.scenario.arrivals.one_namespace import OneNamespace


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
    notes: tuple[Note, ...]

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
    workloads, notes = capture_pods(found)
    known = {one["metadata"]["name"] for one in found.of("RuntimeClass")}
    workloads = [replace(one, spec=_settle_runtime_class(one.spec, known)) for one in workloads]
    asking = ("PersistentVolume", "StorageClass", "RuntimeClass", "ResourceSlice")
    bodies = [*(one.spec for one in workloads), *(one for kind in asking for one in found.of(kind))]
    pools, names, cordoned = capture_nodes(found.of("Node"), {HOSTNAME, *_list_asked(bodies)})
    used = {one.namespace for one in workloads}
    labels = {one["metadata"]["name"]: one["metadata"].get("labels") or {} for one in found.of("Namespace")}
    in_one = OneNamespace({**{name: {} for name in used}, **labels}, used)
    objects = ObjectCapture(found, workloads, names, in_one)
    notes += [*objects.notes, *(Note(f"{kind}s, which may not be listed") for kind in found.unread)]
    if found.unreadable:
        notes.append(Note(f"{found.unreadable} items that are no Kubernetes objects"))
    taints = {taint.key for pool in pools for taint in pool.taints} & {*OF_CONDITIONS.values()}
    settled = tuple(_settle(one, names, sorted(taints), in_one) for one in workloads)
    return Capture(pools, names, cordoned, settled, tuple(objects.manifests), tuple(objects.quotas), tuple(notes))


def _settle_runtime_class(spec: Manifest, known: set[str]) -> Manifest:
    """Return a pod's spec that names a class only if it comes along; admission gives the pod its overhead."""
    left_out = {"overhead"} if spec.get("runtimeClassName") in known else {"overhead", "runtimeClassName"}
    return {key: value for key, value in spec.items() if key not in left_out}


def _settle(
    one: CapturedWorkload, names: Mapping[str, str], taints: list[str], in_one: OneNamespace
) -> CapturedWorkload:
    """Return a workload in the one namespace, on the nodes as they are called now."""
    pod = in_one.rewrite_pod(one.namespace, {"metadata": {"labels": one.labels}, "spec": one.spec})
    spec: dict[str, Any] = rename_nodes(pod["spec"], names)
    spec.pop("schedulerName", None)
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
