"""Claims allocated past the scheduler: the devices that pods had where they were, for pods that are bound there."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from annotated_types import MinLen
from pydantic import ConfigDict

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.objects import Objects
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.device_pools import CLAIMS
from stowage_testbed.cluster.devices import DRIVER
from stowage_testbed.observe.device_claims import EXTENDED, claims_of

_FINALIZER = "resource.kubernetes.io/delete-protection"
"""What keeps a claim as long as it has devices; who allocates them puts it there."""

_STRICT = ConfigDict(extra="forbid", coerce_numbers_to_str=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedDevice:
    """A device, or a part of one, that is allocated to a claim of a pod."""

    __pydantic_config__ = _STRICT

    claim: Annotated[str, MinLen(1)]
    """The claim, as the pod calls it."""
    request: Annotated[str, MinLen(1)]
    """The request of the claim; with an alternative, as in gpu/whole."""
    device: Annotated[str, MinLen(1)]
    """The device, as in gpu-0."""
    pool: str = ""
    """The pool that it is of; without it, the one that is called as the node."""
    driver: str = DRIVER
    """The driver that it is of."""
    capacity: Mapping[str, str] = field(default_factory=dict)
    """What the claim gets of a device that several share, as in `memory: 10Gi`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPod:
    """The node of a pod, and the devices that its claims get there."""

    __pydantic_config__ = _STRICT

    node: Annotated[str, MinLen(1)]
    """The node."""
    devices: Annotated[tuple[PlacedDevice, ...], MinLen(1)]
    """The devices, for all claims of the pod."""


def allocate_claims(objects: Objects, pod: Manifest, place: PlacedPod) -> None:
    """Have the claims of a pod get devices, as the scheduler does before it binds the pod.

    Raises
    ------
    StowageError
        The pod has other claims, or one of them has other devices.
    """
    metadata, names = pod["metadata"], claims_of(pod)
    placed: defaultdict[str, list[PlacedDevice]] = defaultdict(list)
    for one in place.devices:
        placed[one.claim].append(one)
    if EXTENDED in names.values() or {*placed} != {*names.values()}:
        known = ", ".join(sorted(names.values())) or "none"
        raise StowageError(
            f"pod {metadata['name']} has the claims {known}, and {', '.join(sorted(placed))} get devices; "
            "give each claim some, or leave the pod to the scheduler"
        )
    user = {"resource": "pods", "name": metadata["name"], "uid": metadata["uid"]}
    for name, called in names.items():
        _allocate(
            objects, objects.read(CLAIMS, name, namespace=metadata["namespace"]), placed[called], place.node, user
        )


def _allocate(
    objects: Objects, claim: Manifest, devices: Iterable[PlacedDevice], node: str, user: Mapping[str, str]
) -> None:
    metadata, status = claim["metadata"], claim.get("status") or {}
    name, namespace = metadata["name"], metadata["namespace"]
    results = [_make_result(objects, claim, one, node) for one in devices]
    users = [*(status.get("reservedFor") or ()), user]
    if former := status.get("allocation"):
        if list(map(_identify, former["devices"]["results"])) != list(map(_identify, results)):
            raise StowageError(
                f"claim {name} is allocated to other devices already; name the same ones for all its pods"
            )
        objects.patch(CLAIMS, name, {"status": {"reservedFor": users}}, namespace=namespace, subresource="status")
        return
    finalizers = [*(metadata.get("finalizers") or ()), _FINALIZER]
    objects.patch(CLAIMS, name, {"metadata": {"finalizers": finalizers}}, namespace=namespace)
    here = {"key": "metadata.name", "operator": "In", "values": [node]}
    allocation = {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [here]}]}}
    # Together: what is allocated and nobody's, the controller of claims takes back.
    change = {"status": {"allocation": allocation, "reservedFor": users}}
    objects.patch(CLAIMS, name, change, namespace=namespace, subresource="status")


def _make_result(objects: Objects, claim: Manifest, device: PlacedDevice, node: str) -> dict[str, Any]:
    """Return what an allocation says of a device."""
    own, _, alternative = device.request.partition("/")
    asked: Manifest = next((one for one in claim["spec"]["devices"]["requests"] if one["name"] == own), {})
    inner = next((one for one in asked.get("firstAvailable") or () if one["name"] == alternative), asked.get("exactly"))
    result: dict[str, Any] = {
        "request": device.request,
        "driver": device.driver,
        "pool": device.pool or node,
        "device": device.device,
    }
    if tolerations := (inner or {}).get("tolerations"):
        # By these, what evicts pods from devices with taints knows whom to leave alone.
        result["tolerations"] = tolerations
    if device.capacity:
        result |= {"consumedCapacity": dict(device.capacity), "shareID": str(uuid.uuid4())}
    return result


def _identify(result: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(result[name] for name in ("request", "driver", "pool", "device"))
