"""A captured cluster in words that say nothing of whose it is."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.kinds import DEFINITION
from stowage_testbed.capture.capture import Capture, rename_nodes
from stowage_testbed.capture.reading import FURTHER
from stowage_testbed.cluster.claims import PlacedDevice
from stowage_testbed.cluster.devices import Devices, DeviceTaint
from stowage_testbed.cluster.node_pool import ZONE_LABEL, NodePool, Taint
from stowage_testbed.whatif.inventory import DEVICE_KINDS, kind_of

_OWN_DOMAINS = re.compile(r"(^|\.)(kubernetes\.io|k8s\.io|stowage\.dev)$")
_OPEN_VALUES = frozenset({"kubernetes.io/os", "kubernetes.io/arch"})  # Labels whose values say nothing of anybody

_NAMES = frozenset({
    "claimName", "driver", "image", "name", "nodeID", "podGroupName", "provisioner", "request", "resourceClaimName",
    "resourceClaimTemplateName", "runtimeClassName", "serviceName", "storageClassName", "volumeHandle", "volumeName",
})  # fmt: skip
"""Fields that name something."""

_LABELS = frozenset({"labels", "matchLabels", "nodeSelector"})
_KEYS = frozenset({"matchLabelKeys", "mismatchLabelKeys", "topologyKeys"})
_NUMBERS = frozenset({"Gt", "Lt"})
_HARMLESS = re.compile(r"[\d.]+[A-Za-z]*|([A-Z][a-z]+)+")
_HARMLESS_NAME = re.compile(r"(system-.*|kubernetes\.io/no-provisioner|)")


class _Words:
    """Gives each word another one, the same for the same word."""

    def __init__(self) -> None:
        self._left_alone = frozenset[str]()
        self._new: dict[str, dict[str, str]] = defaultdict(dict)

    def name(self, old: str, sort: str = "name") -> str:
        """Return the new name of a thing."""
        if old in self._left_alone or _HARMLESS_NAME.fullmatch(old):
            return old
        known = self._new[sort]
        return known.setdefault(old, f"{sort}-{len(known) + 1}")

    def keep(self, words: Iterable[str]) -> None:
        """Leave these alone from now on."""
        self._left_alone |= frozenset(words)

    def key(self, old: str) -> str:
        """Return the new key of a label or taint; Kubernetes' own are nobody's."""
        domain = old.rpartition("/")[0]
        return old if _OWN_DOMAINS.search(domain) else self.name(old, "key")

    def value(self, key: str, old: str) -> str:
        """Return the new value of a label or taint."""
        return old if key in _OPEN_VALUES or not old else self.name(old, "value")

    def request(self, old: str) -> str:
        """Return the new name of a request of a claim, with or without the alternative of it."""
        return "/".join(map(self.name, old.split("/")))

    def device_class(self, of: Devices) -> str:
        """Return the new name of the device class of devices, as they describe it; their model, as in H100, stays."""
        old, new = of.class_name, self.name(of.name)
        partitions = {f"{old}-mig": f"{new or old}-mig"} if of.partitions else {}
        self._new["name"] |= {old: new or old, **partitions}
        return new

    def taint(self, old: Mapping[str, Any]) -> Manifest:
        """Return a taint of devices, or a toleration."""
        key = old.get("key", "")
        words = {"key": self.key(key), "value": self.value(key, old.get("value", ""))}
        return {**old, **{name: word for name, word in words.items() if old.get(name)}}

    def scrub(self, value: Any) -> Any:
        """Return unknown values without their words; amounts, and words in capitals as of a choice, stay."""
        if isinstance(value, list):
            return [self.scrub(one) for one in value]
        if isinstance(value, dict):
            return {key: self.scrub(one) for key, one in value.items()}
        if not isinstance(value, str) or _HARMLESS.fullmatch(value):
            return value
        return self.name(value)

    def labels(self, old: Mapping[str, str]) -> dict[str, str]:
        return {self.key(key): self.value(key, value) for key, value in old.items()}

    def replace_all(self, value: Any) -> Any:
        """Return plain values with other words wherever Kubernetes has names in them."""
        if isinstance(value, list):
            return [self.replace_all(one) for one in value]
        if not isinstance(value, dict):
            return value
        changed = {name: part for name, part in value.items() if name != "annotations"}
        if "operator" in value and "key" in value:
            key = value["key"]
            if key != "metadata.name":
                changed["key"] = self.key(key)
            if value["operator"] not in _NUMBERS and "values" in value:
                changed["values"] = [self.value(key, one) for one in value["values"]]
            if isinstance(value.get("value"), str):
                changed["value"] = self.value(key, value["value"])
            return changed
        for name, part in changed.items():
            if name in _LABELS and isinstance(part, dict):
                changed[name] = self.labels(part)
            elif name in _NAMES and isinstance(part, str):
                changed[name] = self.name(part)
            elif name in _KEYS:
                changed[name] = [self.key(one) for one in part]
            else:
                changed[name] = self.key(part) if name == "topologyKey" else self.replace_all(part)
        return changed


def make_neutral(captured: Capture) -> Capture:
    """Return the same cluster in words that say nothing of whose it is."""
    plain = _Words()
    pools, names = list[NodePool](), dict[str, str]()
    for pool in captured.pools:
        new = replace(
            pool,
            name_prefix=plain.name(pool.name_prefix, "kind"),
            labels=plain.labels(pool.labels),
            taints=tuple(Taint(plain.key(t.key), t.effect, plain.value(t.key, t.value)) for t in pool.taints),
            zones=tuple(plain.value(ZONE_LABEL, zone) for zone in pool.zones),
            devices=tuple(_rename_described(devices, plain) for devices in pool.devices),
        )
        pools.append(new)
        names |= dict(zip(pool.node_names(), new.node_names(), strict=True))
    plain.keep(names.values())
    own = dict(names)
    for one in captured.workloads:
        for claim in one.claims:
            # The name of each claim that a StatefulSet looks for.
            before = f"{claim['metadata']['name']}-{one.name}"
            after = f"{plain.name(claim['metadata']['name'])}-{plain.name(one.name, 'workload')}"
            own |= {f"{before}-{number}": f"{after}-{number}" for number in range(len(one.pods))}
    workloads = [
        replace(
            one,
            spec=plain.replace_all(rename_nodes(one.spec, names)),
            name=plain.name(one.name, "workload"),
            labels=plain.labels(one.labels),
            pods=("",) * len(one.pods),
            nodes=tuple(names.get(node, "") for node in one.nodes),
            claims=tuple(plain.replace_all(claim) for claim in one.claims),
            devices=tuple(owned and tuple(_rename_placed(device, plain) for device in owned) for owned in one.devices),
        )
        for one in captured.workloads
    ]
    read = {word for one in captured.objects if one["kind"] in DEVICE_KINDS for word in _list_read(one["spec"])}
    return Capture(
        tuple(pools),
        {old: names[one] for old, one in captured.nodes.items()},
        tuple(names[one] for one in captured.cordoned),
        tuple(workloads),
        tuple(_rename_object(rename_nodes(one, names), own, plain, read) for one in captured.objects),
        tuple(_rename_object(one, own, plain) for one in captured.quotas),
        dict.fromkeys(captured.notes, ()),
    )


def _rename_described(devices: Devices, plain: _Words) -> Devices:
    taints = (plain.taint(one.manifest()) for one in devices.taints)
    return replace(devices, name=plain.device_class(devices), taints=tuple(DeviceTaint(**one) for one in taints))


def _rename_placed(device: PlacedDevice, plain: _Words) -> PlacedDevice:
    pool = plain.name(device.pool) if device.pool else ""
    return replace(device, claim=plain.name(device.claim), request=plain.request(device.request), pool=pool)


def _list_read(value: Any) -> Iterator[str]:
    """Yield the words of what selects devices, among which are the attributes that it reads."""
    if isinstance(value, list):
        for one in value:
            yield from _list_read(one)
    elif isinstance(value, dict):
        for name, part in value.items():
            if name in {"expression", "matchAttribute", "distinctAttribute"} and isinstance(part, str):
                yield from re.findall(r"\w+", part)
            else:
                yield from _list_read(part)


def _rename_of_devices(one: Manifest, names: Mapping[str, str], plain: _Words, read: Collection[str]) -> Manifest:
    """Return what is about devices: drivers, expressions and the attributes that these read stay as they are."""
    spec = {name: part for name, part in one["spec"].items() if name not in {"config", "nodeName"}}
    if one["kind"] == "DeviceClass":
        return {**one, "spec": spec}
    if one["kind"] == "DeviceTaintRule":
        selector = dict(spec.get("deviceSelector") or {})
        if pool := selector.get("pool"):
            selector["pool"] = names.get(pool) or plain.name(pool)
        return {**one, "spec": {**spec, "deviceSelector": selector, "taint": plain.taint(spec["taint"])}}
    if one["kind"] != "ResourceSlice":
        return {**one, "spec": _rename_requests(spec, plain)}
    node, pool = one["spec"].get("nodeName") or "", spec["pool"]["name"]
    here = {"nodeName": names.get(node, node)} if node else {}
    named = {"pool": {**spec["pool"], "name": names.get(pool) or plain.name(pool)}}
    devices = [_rename_device(device, plain, read) for device in spec.get("devices") or ()]
    return {**one, "spec": {**spec, **here, **named, **({"devices": devices} if devices else {})}}


def _rename_device(device: Manifest, plain: _Words, read: Collection[str]) -> Manifest:
    attributes = device.get("attributes") or {}
    kept = {key: value for key, value in attributes.items() if key.rpartition("/")[2] in read}
    taints = list(map(plain.taint, device.get("taints") or ()))
    return {**device, "attributes": kept, **({"taints": taints} if taints else {})}


def _rename_requests(value: Any, plain: _Words) -> Any:
    """Return what claims ask for: requests are named in constraints, too, and amounts are by capacities."""
    if isinstance(value, list):
        return [_rename_requests(one, plain) for one in value]
    if not isinstance(value, dict):
        return value
    if "operator" in value or "effect" in value:
        return plain.taint(value)
    changed = {name: _rename_requests(part, plain) for name, part in value.items() if name != "config"}
    for name in ("name", "deviceClassName"):
        if isinstance(value.get(name), str):
            changed[name] = plain.name(value[name])
    requests = value.get("requests")
    if isinstance(requests, list) and all(isinstance(one, str) for one in requests):
        changed["requests"] = list(map(plain.request, requests))
    return changed


def _rename_object(one: Manifest, names: dict[str, str], plain: _Words, read: Collection[str] = ()) -> Manifest:
    metadata = one["metadata"]
    if one["kind"] == DEFINITION:
        return one
    if kind_of(one) not in FURTHER:
        head = {key: one[key] for key in ("apiVersion", "kind", "metadata")}
        changed = head | plain.scrub({key: value for key, value in one.items() if key not in head})
    elif one["kind"] in DEVICE_KINDS:
        changed = _rename_of_devices(one, names, plain, read)
    else:
        changed = plain.replace_all(one)
    name = names.get(metadata["name"]) or plain.name(metadata["name"])
    labels = plain.labels(metadata.get("labels") or {})
    return {**changed, "metadata": {"name": name, **({"labels": labels} if labels else {})}}
