"""A cluster as a scenario: everything that was found, in its parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.kinds import DEFINITION
from stowage_testbed.capture.neutral import Words
from stowage_testbed.capture.nodes import OF_CONDITIONS, CapturedNodes, capture_nodes
from stowage_testbed.capture.objects import capture_objects, rename_nodes, settle_runtime_class
from stowage_testbed.capture.reading import FURTHER, Found
from stowage_testbed.capture.workloads import HOSTNAME, CapturedWorkload, Note, capture_pods, require
from stowage_testbed.cluster.host_pods import HOST_TAINT
from stowage_testbed.cluster.node_pool import ZONE_LABEL, NodePool, Taint
from stowage_testbed.scenario.arrivals.one_namespace import OneNamespace
from stowage_testbed.trace.format import PodTemplate
from stowage_testbed.whatif.inventory import kind_of


@dataclass(frozen=True, slots=True)
class Capture:
    """What a scenario has of a cluster.

    Attributes
    ----------
    objects
        Manifests in an order in which they can be made, before the pods.
    quotas
        Manifests for after the pods: a quota that was lowered lets go on what runs.
    notes
        What is not so in the scenario.
    """

    nodes: CapturedNodes
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
    workloads = [settle_runtime_class(one, found) for one in workloads]
    nodes = capture_nodes(found.of("Node"), set(_list_keys(found, workloads)))
    used = {one.namespace for one in workloads}
    labels = {one["metadata"]["name"]: one["metadata"].get("labels") or {} for one in found.of("Namespace")}
    in_one = OneNamespace({**{name: {} for name in used}, **labels}, used)
    objects = capture_objects(found, workloads, nodes.names, in_one)
    notes += objects.notes
    notes += [Note(f"{kind}s, which may not be listed") for kind in found.unread]
    if found.unreadable:
        notes.append(Note(f"{found.unreadable} items that are no Kubernetes objects"))
    settled = tuple(_settle(one, nodes, in_one) for one in workloads)
    return Capture(nodes, settled, tuple(objects.manifests), tuple(objects.quotas), tuple(notes))


def _settle(one: CapturedWorkload, nodes: CapturedNodes, in_one: OneNamespace) -> CapturedWorkload:
    """Return a workload in the one namespace, on the nodes as they are called now."""
    template = one.template
    pod = in_one.rewrite_pod(one.namespace, {"metadata": {"labels": template.labels}, "spec": template.spec})
    spec: dict[str, Any] = rename_nodes(pod["spec"], nodes.names)
    spec.pop("schedulerName", None)
    if one.kind == "DaemonSet":
        # Many tolerate every taint: they are kept off the node that a run has besides.
        spec = require(spec, {"key": HOST_TAINT, "operator": "DoesNotExist"})
    taints = sorted({taint.key for pool in nodes.pools for taint in pool.taints} & {*OF_CONDITIONS.values()})
    if tolerated := [key for key in taints if one.kind == "DaemonSet" or _tolerates(spec, key)]:
        more = [{"key": key, "operator": "Exists"} for key in tolerated]
        spec["tolerations"] = [*spec.get("tolerations", ()), *more]
    return replace(
        one,
        template=PodTemplate(dict(pod["metadata"]["labels"]), template.annotations, spec),
        nodes=tuple(nodes.names.get(node, "") for node in one.nodes),
    )


def _tolerates(spec: Mapping[str, Any], key: str) -> bool:
    """Return whether pods tolerate a taint in whose place another one is."""
    return any(
        OF_CONDITIONS.get(one.get("key", "")) == key and (one.get("effect") or "NoSchedule") == "NoSchedule"
        for one in spec.get("tolerations") or ()
    )


def make_neutral(captured: Capture) -> Capture:
    """Return the same cluster in words that say nothing of whose it is."""
    plain = Words()
    pools, names = list[NodePool](), dict[str, str]()
    for pool in captured.nodes.pools:
        new = replace(
            pool,
            name_prefix=plain.name(pool.name_prefix, "kind"),
            labels=plain.labels(pool.labels),
            taints=tuple(Taint(plain.key(t.key), t.effect, plain.value(t.key, t.value)) for t in pool.taints),
            zones=tuple(plain.value(ZONE_LABEL, zone) for zone in pool.zones),
        )
        pools.append(new)
        names |= dict(zip(pool.node_names(), new.node_names(), strict=True))
    nodes = CapturedNodes(
        tuple(pools),
        {old: names[one] for old, one in captured.nodes.names.items()},
        tuple(names[one] for one in captured.nodes.cordoned),
    )
    plain.keep(names.values())
    own = names | dict(_pair_claim_names(captured.workloads, plain))
    return Capture(
        nodes,
        tuple(_rename(one, names, plain) for one in captured.workloads),
        tuple(_rename_object(rename_nodes(one, names), own, plain) for one in captured.objects),
        tuple(_rename_object(one, own, plain) for one in captured.quotas),
        tuple(replace(one, names=()) for one in captured.notes),
    )


def _rename(one: CapturedWorkload, names: dict[str, str], plain: Words) -> CapturedWorkload:
    template = one.template
    spec = plain.replace_all(rename_nodes(template.spec, names))
    return replace(
        one,
        name=plain.name(one.name, "workload"),
        template=PodTemplate(plain.labels(template.labels), {}, spec),
        pods=("",) * len(one.pods),
        nodes=tuple(names.get(node, "") for node in one.nodes),
        claims=tuple(plain.replace_all(claim) for claim in one.claims),
    )


def _pair_claim_names(workloads: Iterable[CapturedWorkload], plain: Words) -> Iterator[tuple[str, str]]:
    """Yield the old and the new name of each claim that a StatefulSet looks for."""
    for one in workloads:
        for claim in one.claims:
            old = claim["metadata"]["name"], one.name
            new = plain.name(old[0]), plain.name(old[1], "workload")
            for number in range(len(one.pods)):
                yield f"{'-'.join(old)}-{number}", f"{'-'.join(new)}-{number}"


def _rename_object(one: Manifest, names: dict[str, str], plain: Words) -> Manifest:
    metadata = one["metadata"]
    if one["kind"] == DEFINITION:
        return one
    if kind_of(one) not in FURTHER:
        words = {key: value for key, value in one.items() if key not in _HEAD}
        kept = {**{key: one[key] for key in _HEAD}, **plain.scrub(words)}
    else:
        kept = plain.replace_all(one)
    name = names.get(metadata["name"]) or plain.name(metadata["name"])
    labels = plain.labels(metadata.get("labels") or {})
    return {**kept, "metadata": {"name": name, **({"labels": labels} if labels else {})}}


_HEAD = ("apiVersion", "kind", "metadata")


def _list_keys(found: Found, workloads: Sequence[CapturedWorkload]) -> Iterator[str]:
    """Yield the labels of nodes that pods, volumes or devices ask about."""
    yield HOSTNAME
    for one in workloads:
        yield from _list_asked(one.template.spec)
    for kind in ("PersistentVolume", "StorageClass", "RuntimeClass", "ResourceSlice"):
        for body in found.of(kind):
            yield from _list_asked(body)


def _list_asked(value: Any) -> Iterable[str]:
    if isinstance(value, list):
        for one in value:
            yield from _list_asked(one)
    elif isinstance(value, dict):
        for name in ("key", "topologyKey"):
            if isinstance(value.get(name), str):
                yield value[name]
        if isinstance(value.get("nodeSelector"), dict):
            yield from value["nodeSelector"]
        for one in value.values():
            yield from _list_asked(one)
