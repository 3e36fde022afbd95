"""Secret volumes."""

from __future__ import annotations

from stowage_testbed.hostpods.errors import VolumeNotReadyError
from stowage_testbed.hostpods.manifest import Manifest
from stowage_testbed.hostpods.objects import Objects
from stowage_testbed.hostpods.volumes.payload import Payload, keyed_payload


async def secret_payload(
    pod: Manifest, source: Manifest, default_mode: int, objects: Objects
) -> Payload:
    """Return a Secret's keys as files.

    Raises
    ------
    VolumeNotReadyError
        The Secret or a named key is missing and not optional.
    """
    namespace = pod["metadata"]["namespace"]
    name = source.get("secretName") or source["name"]
    data = await objects.secret(namespace, name)
    if data is None:
        if source.get("optional"):
            return {}
        raise VolumeNotReadyError(
            f"Secret {namespace}/{name} does not exist; create it, or mark the volume "
            "optional"
        )
    return keyed_payload(f"Secret {namespace}/{name}", data, source, default_mode)
