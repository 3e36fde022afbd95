"""Volumes that show the pod to itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stowage_testbed.hostpods.errors import VolumeNotReadyError
from stowage_testbed.hostpods.fields import pod_field, resource_field
from stowage_testbed.hostpods.manifest import Manifest
from stowage_testbed.hostpods.volumes.payload import FileContent, Payload


def downward_payload(
    pod: Manifest,
    items: Iterable[Manifest],
    default_mode: int,
    capacity: Mapping[str, str],
) -> Payload:
    """Return the named fields as files.

    Raises
    ------
    VolumeNotReadyError
        A resource field names a container that the pod has not.
    """
    payload: Payload = {}
    for item in items:
        if "fieldRef" in item:
            path = item["fieldRef"]["fieldPath"]
            text = pod_field(pod, path, whole_maps=True)
        else:
            reference = item["resourceFieldRef"]
            container = _container(pod, reference["containerName"])
            text = resource_field(container, reference, capacity)
        mode = item.get("mode", default_mode)
        payload[item["path"]] = FileContent(text.encode(), mode)
    return payload


def _container(pod: Manifest, name: str) -> Manifest:
    for container in pod["spec"]["containers"]:
        if container["name"] == name:
            found: Manifest = container
            return found
    raise VolumeNotReadyError(
        f"resourceFieldRef names container {name!r}, which the pod does not have"
    )
