"""What else scheduling depends on: budgets, quotas, volumes, devices, what is asked."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.kinds import DEFINITION
from stowage_testbed.api.label_selector import selects
from stowage_testbed.capture.reading import Found, key_of
from stowage_testbed.capture.workloads import CapturedWorkload, Note
from stowage_testbed.scenario.arrivals.one_namespace import OneNamespace
from stowage_testbed.scenario.manifests import name_priority_class
from stowage_testbed.trace.reducing import reduce_object

_PLACE_KEYS = frozenset({"kubernetes.io/hostname", "topology.hostpath.csi/node", "metadata.name"})
"""Keys whose values are names of nodes."""

_OF_VOLUME = ("accessModes", "capacity", "csi", "nodeAffinity", "storageClassName")


class ObjectCapture:
    """The objects that pods depend on, without namespaces; nodes are called by their new names."""

    def __init__(
        self, found: Found, workloads: Sequence[CapturedWorkload], node_names: Mapping[str, str], in_one: OneNamespace
    ) -> None:
        self._found = found
        self._workloads = workloads
        self._node_names = node_names
        self._in_one = in_one
        self.notes: list[Note] = []
        self.manifests = list(self._list_all())
        """In an order in which they can be made."""
        self.quotas = list(self._list_quotas())
        """For after the pods."""
        if foreign := found.foreign():
            self._note("kinds that Kubernetes' scheduler does not know", *foreign)

    def _list_all(self) -> Iterator[Manifest]:
        found = self._found
        for definition in map(_strip, found.of(DEFINITION)):
            # Nobody answers here who could convert.
            yield {**definition, "spec": {**definition["spec"], "conversion": {"strategy": "None"}}}
        classes = {one.spec.get("runtimeClassName") for one in self._workloads}
        yield from (_strip(one) for one in found.of("RuntimeClass") if one["metadata"]["name"] in classes)
        yield from self._list_storage()
        yield from self._list_devices()
        yield from self._list_budgets()
        yield from (self._move(one) for one in (*found.of("PodGroup"), *found.of_asked()))

    def _note(self, text: str, *names: str) -> None:
        self.notes.append(Note(text, names))

    def _move(self, one: Manifest) -> Manifest:
        return _strip(self._in_one.rewrite(one))

    def _list_quotas(self) -> Iterator[Manifest]:
        """Yield quotas; of classes of priority they name those that a run makes."""
        quotas = self._found.of("ResourceQuota")
        if self._in_one.apart and quotas:
            self._note(f"{len(quotas)} quotas, which are of one namespace each")
            return
        priorities = self._found.of("PriorityClass")
        classes = {one["metadata"]["name"]: name_priority_class(int(one["value"])) for one in priorities}
        for quota in map(_strip, quotas):
            for one in (quota["spec"].get("scopeSelector") or {}).get("matchExpressions") or ():
                if one.get("scopeName") == "PriorityClass":
                    one["values"] = [classes.get(v, v) for v in one.get("values") or ()]
            yield quota

    def _list_budgets(self) -> Iterator[Manifest]:
        """Yield the budgets that some pods count for; without a selector they are of no pod."""
        for one in self._found.of("PodDisruptionBudget"):
            selector = one["spec"].get("selector")
            inside = (each for each in self._workloads if each.namespace == key_of(one)[0])
            if selector is not None and any(selects(selector, each.labels) for each in inside):
                yield self._move(one)

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
                yield self._make_volume(volume)
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
            self._note(f"{unknown} claims or volumes that were not among what was read")

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

    def _make_volume(self, volume: Manifest) -> Manifest:
        """Return a volume that its claim, which names it, is bound to again."""
        reduced = _strip(volume)
        spec = {key: reduced["spec"][key] for key in _OF_VOLUME if key in reduced["spec"]}
        if "csi" not in spec:
            spec["hostPath"] = {"path": "/volumes"}
        spec["persistentVolumeReclaimPolicy"] = "Retain"
        return {**reduced, "spec": rename_nodes(spec, self._node_names)}

    def _list_devices(self) -> Iterator[Manifest]:
        for kind in ("DeviceClass", "ResourceClaimTemplate", "ResourceSlice"):
            for reduced in map(self._move, self._found.of(kind)):
                if node := (reduced.get("spec") or {}).get("nodeName"):
                    reduced["spec"] = {**reduced["spec"], "nodeName": self._node_names.get(node, node)}
                yield reduced
        claims = self._found.of("ResourceClaim")
        yield from (self._move(one) for one in claims if not one["metadata"].get("ownerReferences"))
        if held := sum(bool((one.get("status") or {}).get("allocation")) for one in claims):
            self._note(f"which devices {held} claims have been given")


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
