"""Device classes and slices on a cluster: made with their nodes, and taken away."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from stowage_testbed.amounts.resources import amount
from stowage_testbed.api.client import Manifest
from stowage_testbed.api.objects import Objects, list_dropped
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.devices import GROUP_VERSION, NODE_LABEL, Devices, make_classes, make_pool

CLASSES = f"{GROUP_VERSION}/DeviceClass"
SLICES = f"{GROUP_VERSION}/ResourceSlice"
CLAIMS = f"{GROUP_VERSION}/ResourceClaim"


def create_classes(objects: Objects, sets: Iterable[Devices], labels: Mapping[str, str] | None = None) -> None:
    """Create the device classes of devices, with these labels; one that is there already is kept.

    Raises
    ------
    StowageError
        A class of that name has other devices, or the API server leaves a field out.
    """
    for manifest in make_classes(sets):
        name = manifest["metadata"]["name"]
        manifest["metadata"]["labels"] = dict(labels or {})
        if made := objects.create(manifest, or_keep=True):
            _refuse_dropped(manifest, made)
        elif objects.read(CLASSES, name)["spec"] != manifest["spec"]:
            raise StowageError(
                f"the cluster has a device class {name} of other devices, which is left as it is; give the devices "
                "another `name`, or take a cluster of its own"
            )


def delete_classes(objects: Objects, labels: Mapping[str, str]) -> None:
    """Delete the device classes that were created with these labels."""
    for one in objects.each(CLASSES) if objects.kinds.find_served(CLASSES) else ():
        if labels.items() <= (one["metadata"].get("labels") or {}).items():
            objects.delete(CLASSES, one["metadata"]["name"])


def create_slices(objects: Objects, node: Manifest, sets: Sequence[Devices]) -> None:
    """Create the slices of a node that the API server has made.

    Raises
    ------
    StowageError
        The API server leaves a field out.
    """
    metadata = node["metadata"]
    for manifest in make_pool(metadata["name"], sets, uid=metadata["uid"]):
        _refuse_dropped(manifest, objects.create(manifest))


def list_slices(objects: Objects, nodes: Collection[str]) -> Iterator[str]:
    """Yield the names of the slices that were made for nodes of these names."""
    for one in objects.each(SLICES):
        if (one["metadata"].get("labels") or {}).get(NODE_LABEL) in nodes:
            yield one["metadata"]["name"]


def delete_slices(objects: Objects, nodes: Collection[str]) -> None:
    """Delete the slices of former nodes, which the garbage collector may not have come to.

    With those of new nodes of the same names they would be pools of two sizes, of which nothing is allocated.
    """
    for name in list(list_slices(objects, nodes)):
        objects.delete(SLICES, name)


ChangeDevices = Callable[[list[Manifest], list[Manifest]], list[Manifest]]
"""Takes the devices that a slice has, and those that its node is described with; returns those that it shall have."""


def change_slices(
    objects: Objects, node: str, sets: Sequence[Devices], change: ChangeDevices
) -> Iterator[dict[str, Any]]:
    """Change the devices of a node, and yield its slices as they are then.

    All slices of a pool get the next generation: the allocator takes those of the newest one, when all are there.
    """
    described = make_pool(node, sets)
    for driver in dict.fromkeys(one["spec"]["driver"] for one in described):
        own = [one["spec"].get("devices") for one in described if one["spec"]["driver"] == driver]
        names = [one["metadata"]["name"] for one in described if one["spec"]["driver"] == driver]
        pool = [objects.read(SLICES, name) for name in names]
        there = [one["spec"].get("devices") or [] for one in pool]
        # Those with what partitions share have no devices.
        new = [None if devices is None else change(now, devices) for now, devices in zip(there, own, strict=True)]
        if all(devices is None or _read(devices) == _read(now) for now, devices in zip(there, new, strict=True)):
            continue
        generation = {"generation": pool[0]["spec"]["pool"]["generation"] + 1}
        for name, devices in zip(names, new, strict=True):
            content = {} if devices is None else {"devices": devices}
            yield objects.patch(SLICES, name, {"spec": {"pool": generation, **content}})


def _read(devices: Iterable[Manifest]) -> list[Manifest]:
    """Return devices in a form in which equal ones are equal, however they are written.

    The API server writes quantities anew, and notes when taints were added.
    """
    found = []
    for one in devices:
        taints = [
            {name: text for name, text in taint.items() if name != "timeAdded"} for taint in one.get("taints") or ()
        ]
        amounts = {name: _read_amounts(one.get(name) or {}) for name in ("capacity", "consumesCounters")}
        found.append({**one, **amounts, "taints": taints})
    return found


def _read_amounts(part: Any) -> Any:
    match part:
        case dict():
            return {name: one if name == "counterSet" else _read_amounts(one) for name, one in part.items()}
        case list():
            return [_read_amounts(one) for one in part]
        case _:
            return amount(part)


def _refuse_dropped(manifest: Manifest, made: Manifest) -> None:
    """Raise for the first field that a feature gate keeps from being stored, of which the API server says nothing."""
    kind, name = manifest["kind"], manifest["metadata"]["name"]
    for field in list_dropped(manifest["spec"], made["spec"], "spec"):
        raise StowageError(
            f"the API server leaves {field} of {kind} {name} out: it does not know it, or has its feature gate off; "
            "take a cluster without that, or devices that need no such field"
        )
