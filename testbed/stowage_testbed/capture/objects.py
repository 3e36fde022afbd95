"""What else scheduling depends on: budgets, quotas, volumes, devices, what is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.kinds import DEFINITION
from stowage_testbed.api.label_selector import selects
from stowage_testbed.capture.reading import Found
from stowage_testbed.capture.workloads import CapturedWorkload, Note
from stowage_testbed.scenario.arrivals.one_namespace import OneNamespace
from stowage_testbed.scenario.manifests import name_priority_class
from stowage_testbed.trace.reducing import reduce_object

_PLACE_KEYS = frozenset({"kubernetes.io/hostname", "topology.hostpath.csi/node", "metadata.name"})
"""Keys whose values are names of nodes."""

_OF_VOLUME = ("accessModes", "capacity", "csi", "nodeAffinity", "storageClassName")


@dataclass(slots=True)
class CapturedObjects:
    """Manifests in an order in which they can be made; quotas come after the pods."""

    manifests: list[Manifest] = field(default_factory=list)
    quotas: list[Manifest] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


def capture_objects(
    found: Found, workloads: Sequence[CapturedWorkload], names: Mapping[str, str], in_one: OneNamespace
) -> CapturedObjects:
    """Return the objects that pods depend on, without namespaces; the nodes' new names are by their old ones."""
    captured = CapturedObjects()
    own = captured.manifests
    # Nobody answers here who could convert.
    own += (
        {**kept, "spec": {**kept["spec"], "conversion": {"strategy": "None"}}}
        for kept in map(_strip, found.of(DEFINITION))
    )
    classes = {one.template.spec.get("runtimeClassName") for one in workloads}
    own += (_strip(one) for one in found.of("RuntimeClass") if one["metadata"]["name"] in classes)
    own += _list_storage(found, workloads, names, in_one, captured.notes)
    own += _list_devices(found, names, in_one, captured.notes)
    own += _list_budgets(found, workloads, in_one)
    own += (_strip(in_one.rewrite(one)) for one in (*found.of("PodGroup"), *found.of_asked()))
    quotas = found.of("ResourceQuota")
    if in_one.apart and quotas:
        captured.notes.append(Note(f"{len(quotas)} quotas, which are of one namespace each"))
    else:
        captured.quotas += _list_quotas(found)
    if foreign := found.foreign():
        captured.notes.append(Note("kinds that Kubernetes' scheduler does not know", tuple(foreign)))
    return captured


def _list_quotas(found: Found) -> Iterator[Manifest]:
    """Yield quotas; of classes of priority they name those that a run makes."""
    classes = {one["metadata"]["name"]: name_priority_class(int(one["value"])) for one in found.of("PriorityClass")}
    for quota in found.of("ResourceQuota"):
        kept = _strip(quota)
        for one in (kept["spec"].get("scopeSelector") or {}).get("matchExpressions") or ():
            if one.get("scopeName") == "PriorityClass":
                one["values"] = [classes.get(v, v) for v in one.get("values") or ()]
        yield kept


def _list_budgets(found: Found, workloads: Sequence[CapturedWorkload], in_one: OneNamespace) -> Iterator[Manifest]:
    """Yield the budgets that some pods count for; without a selector they are of no pod."""
    for one in found.of("PodDisruptionBudget"):
        namespace, selector = _key(one)[0], one["spec"].get("selector")
        if selector is not None and any(
            workload.namespace == namespace and selects(selector, workload.template.labels) for workload in workloads
        ):
            yield _strip(in_one.rewrite(one))


def _list_storage(
    found: Found,
    workloads: Sequence[CapturedWorkload],
    names: Mapping[str, str],
    in_one: OneNamespace,
    notes: list[Note],
) -> Iterator[Manifest]:
    """Yield claims of the pods, their volumes and classes, and limits of nodes."""
    claims = {_key(one): one for one in found.of("PersistentVolumeClaim")}
    volumes = {one["metadata"]["name"]: one for one in found.of("PersistentVolume")}
    made, used, drivers, unknown = list[Manifest](), dict[str, None](), set[str](), 0
    for old, new in _pair_claims(workloads, in_one):
        claim = claims.get(old)
        if claim is None:
            unknown += 1
            continue
        spec = claim["spec"]
        used[str(spec.get("storageClassName") or "")] = None
        volume = volumes.get(spec.get("volumeName", ""))
        kept = _strip(claim)
        kept["metadata"]["name"] = new
        if volume is not None:
            yield _make_volume(volume, names)
            drivers.add((volume["spec"].get("csi") or {}).get("driver", ""))
        elif spec.get("volumeName"):
            unknown += 1
            kept["spec"] = {k: v for k, v in spec.items() if k != "volumeName"}
        made.append(kept)
    for workload in workloads:
        for volume in workload.template.spec.get("volumes", ()):
            drivers.add((volume.get("csi") or {}).get("driver", ""))
    classes = {one["metadata"]["name"]: one for one in found.of("StorageClass")}
    yield from (_strip(classes[one]) for one in used if one in classes)
    yield from made
    yield from _list_limits(found, names, drivers - {""})
    if unknown:
        notes.append(Note(f"{unknown} claims or volumes that were not among what was read"))


def _pair_claims(workloads: Iterable[CapturedWorkload], in_one: OneNamespace) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the old namespace and name of each claim, and its new name."""
    shared = dict[tuple[str, str], str]()
    for one in workloads:
        for volume in one.template.spec.get("volumes", ()):
            if claim := (volume.get("persistentVolumeClaim") or {}).get("claimName"):
                shared[one.namespace, claim] = in_one.name(one.namespace, claim)
        for template in one.claims:
            name = template["metadata"]["name"]
            for number, pod in enumerate(one.pods):
                yield (one.namespace, f"{name}-{pod}"), f"{name}-{one.name}-{number}"
    yield from shared.items()


def _make_volume(volume: Manifest, names: Mapping[str, str]) -> Manifest:
    """Return a volume that its claim, which names it, is bound to again."""
    kept = _strip(volume)
    spec = {key: kept["spec"][key] for key in _OF_VOLUME if key in kept["spec"]}
    if "csi" not in spec:
        spec["hostPath"] = {"path": "/volumes"}
    spec["persistentVolumeReclaimPolicy"] = "Retain"
    return {**kept, "spec": rename_nodes(spec, names)}


def _list_limits(found: Found, names: Mapping[str, str], drivers: set[str]) -> Iterator[Manifest]:
    """Yield what nodes can attach of the drivers that are used."""
    for one in found.of("CSINode"):
        kept = [driver for driver in one["spec"].get("drivers") or () if driver["name"] in drivers]
        if kept and one["metadata"]["name"] in names:
            name = names[one["metadata"]["name"]]
            yield {
                **_strip(one),
                "metadata": {"name": name},
                "spec": {"drivers": [{**driver, "nodeID": name} for driver in kept]},
            }


def settle_runtime_class(workload: CapturedWorkload, found: Found) -> CapturedWorkload:
    """Return a workload whose pods name a class only if it comes along; admission gives them its overhead."""
    spec = dict(workload.template.spec)
    known = {one["metadata"]["name"] for one in found.of("RuntimeClass")}
    if spec.get("runtimeClassName") not in known:
        spec.pop("runtimeClassName", None)
    spec.pop("overhead", None)
    return workload.with_spec(spec)


def _list_devices(
    found: Found, names: Mapping[str, str], in_one: OneNamespace, notes: list[Note]
) -> Iterator[Manifest]:
    for kind in ("DeviceClass", "ResourceClaimTemplate", "ResourceSlice"):
        for one in found.of(kind):
            kept = _strip(in_one.rewrite(one))
            if node := (kept.get("spec") or {}).get("nodeName"):
                kept["spec"] = {**kept["spec"], "nodeName": names.get(node, node)}
            yield kept
    held = 0
    for one in found.of("ResourceClaim"):
        held += bool((one.get("status") or {}).get("allocation"))
        if not one["metadata"].get("ownerReferences"):
            yield _strip(in_one.rewrite(one))
    if held:
        notes.append(Note(f"which devices {held} claims have been given"))


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
    kept = reduce_object(one)
    metadata = {key: value for key, value in kept["metadata"].items() if key not in {"namespace", "annotations"}}
    return {**kept, "metadata": metadata}


def _key(one: Manifest) -> tuple[str, str]:
    return one["metadata"].get("namespace", ""), one["metadata"]["name"]
