"""ConfigMap volumes."""

from __future__ import annotations

from stowage_testbed.hostpods.errors import VolumeNotReadyError
from stowage_testbed.hostpods.manifest import Manifest
from stowage_testbed.hostpods.objects import Objects
from stowage_testbed.hostpods.volumes.payload import Payload, keyed_payload


async def config_map_payload(
    pod: Manifest, source: Manifest, default_mode: int, objects: Objects
) -> Payload:
    """Return a ConfigMap's keys as files.

    Raises
    ------
    VolumeNotReadyError
        The ConfigMap or a named key is missing and not optional.
    """
    namespace, name = pod["metadata"]["namespace"], source["name"]
    data = await objects.config_map(namespace, name)
    if data is None:
        if source.get("optional"):
            return {}
        raise VolumeNotReadyError(
            f"ConfigMap {namespace}/{name} does not exist; create it, or mark the "
            "volume optional"
        )
    return keyed_payload(f"ConfigMap {namespace}/{name}", data, source, default_mode)
