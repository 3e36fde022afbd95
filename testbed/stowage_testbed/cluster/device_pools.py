"""Device classes and slices on a cluster: made with their nodes, and taken away."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

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
    for one in objects.list_all(CLASSES):
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


def _refuse_dropped(manifest: Manifest, made: Manifest) -> None:
    """Raise for the first field that a feature gate keeps from being stored, of which the API server says nothing."""
    kind, name = manifest["kind"], manifest["metadata"]["name"]
    for field in list_dropped(manifest["spec"], made["spec"], "spec"):
        raise StowageError(
            f"the API server leaves {field} of {kind} {name} out: it does not know it, or has its feature gate off; "
            "take a cluster without that, or devices that need no such field"
        )
