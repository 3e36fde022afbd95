"""Devices of a captured cluster: those of nodes, and what of them is allocated to the claims of pods."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from stowage_testbed.api.client import Manifest
from stowage_testbed.capture.reading import Found, key_of
from stowage_testbed.cluster.claims import PlacedDevice
from stowage_testbed.cluster.devices import Devices, DeviceTaint, Shares, make_classes, make_pool
from stowage_testbed.observe.device_claims import EXTENDED, Claim, claims_of
from stowage_testbed.observe.pod import node_of
from stowage_testbed.observe.raw_body import decode
from stowage_testbed.trace.reducing import reduce_object


def describe_devices(found: Found) -> dict[str, tuple[Devices, ...]]:
    """Return the devices of nodes as a kind of nodes describes them, of each node whose slices that makes again."""
    classes = {one["metadata"]["name"]: one["spec"] for one in found.of("DeviceClass")}
    by_node = defaultdict[str, list[Manifest]](list)
    for one in sorted(map(reduce_object, found.of("ResourceSlice")), key=lambda one: str(one["metadata"]["name"])):
        by_node[one["spec"].get("nodeName") or ""].append(one["spec"])
    by_node.pop("", None)
    described = {node: _describe(node, slices, classes) for node, slices in by_node.items()}
    return {node: devices for node, devices in described.items() if devices}


def _describe(node: str, slices: Sequence[Manifest], classes: Mapping[str, Manifest]) -> tuple[Devices, ...]:
    """Return devices that come to these slices of a node and to some of these classes; nothing if none do."""
    try:
        sets = [one for spec in slices for one in _read_devices(spec)]
        named = [_name_class(one, classes) for one in sets]
        devices = tuple(replace(one, count=len(list(same))) for one, same in groupby(named))
    except (KeyError, TypeError, ValueError):
        return ()
    if any(classes.get(one["metadata"]["name"]) != one["spec"] for one in make_classes(devices)):
        return ()
    return devices if list(map(_content, slices)) == [_content(one["spec"]) for one in make_pool(node, devices)] else ()


def _content(spec: Manifest) -> Manifest:
    """Return what counts of a slice, whatever its generation."""
    pool = {**spec["pool"], "generation": 1}
    return {**{key: value for key, value in spec.items() if value not in ([], None, False)}, "pool": pool}


def _read_devices(spec: Manifest) -> Iterator[Devices]:
    """Yield a description of each whole device of a slice; it may raise, or be wrong."""
    listed = spec.get("devices") or ()
    divided = {one["attributes"]["parent"]["string"] for one in listed if "parent" in one["attributes"]}
    for one in listed:
        if "parent" in one["attributes"]:
            continue
        memory = (one.get("capacity") or {}).get("memory") or {}
        shares: bool | Shares = one.get("allowMultipleAllocations") or False
        if policy := memory.get("requestPolicy"):
            bounds = policy.get("validRange") or {}
            shares = Shares(default=policy["default"], values=tuple(policy.get("validValues") or ()), **bounds)
        yield Devices(
            model=one["attributes"]["model"]["string"],
            count=1,
            memory=memory.get("value") or "",
            partitions="mig" if one["name"] in divided else "",
            shares=shares,
            driver=spec["driver"],
            taints=tuple(DeviceTaint(**taint) for taint in one.get("taints") or ()),
        )


def _name_class(devices: Devices, classes: Mapping[str, Manifest]) -> Devices:
    """Return the description with the name of the class that selects such devices, and the resource that it serves."""
    own = make_classes([devices])[0]
    (name, spec), *_ = sorted(
        ((name, spec) for name, spec in classes.items() if spec.get("selectors") == own["spec"]["selectors"]),
        # Of several the one that is called as ever.
        key=lambda one: (one[0] != own["metadata"]["name"], one[0]),
    ) or [("", {})]
    named = "" if name == own["metadata"]["name"] else name
    return replace(devices, name=named, resource=spec.get("extendedResourceName") or "")


def read_allocations(found: Found) -> dict[tuple[str, str], Claim]:
    """Return the claims to which devices are allocated, by namespace and name."""
    claims = ((key_of(one), decode(one, Claim)) for one in found.of("ResourceClaim"))
    return {key: claim for key, claim in claims if claim.status.allocation}


def list_pod_devices(pod: Manifest, allocations: Mapping[tuple[str, str], Claim]) -> tuple[PlacedDevice, ...] | None:
    """Return the devices of a pod with a node; None if only the scheduler can place it with devices.

    Either it is not known which it has, or they serve an extended resource.
    """
    names, node = claims_of(pod), node_of(pod)
    asked: Iterable[Mapping[str, Any]] = pod["spec"].get("resourceClaims") or ()
    if not node or not (asked or names):
        return ()
    if EXTENDED in names.values() or {one["name"] for one in asked} != {*names.values()}:
        return None
    devices = list[PlacedDevice]()
    for name, called in names.items():
        claim = allocations.get((key_of(pod)[0], name))
        parts = [
            PlacedDevice(
                claim=called,
                request=one.request,
                device=one.device,
                pool="" if one.pool == node else one.pool,
                driver=one.driver,
                capacity=one.consumed_capacity,
            )
            for one in (claim.allocated() if claim else ())
        ]
        if not parts:
            return None
        devices += parts
    return tuple(devices)
