"""What a volume shows, by kind; projected volumes join several sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stowage_testbed.hostpods.errors import FeatureNotSupportedError
from stowage_testbed.hostpods.manifest import Manifest
from stowage_testbed.hostpods.objects import Objects
from stowage_testbed.hostpods.volumes.configmap import config_map_payload
from stowage_testbed.hostpods.volumes.downward import downward_payload
from stowage_testbed.hostpods.volumes.payload import DEFAULT_MODE, Payload
from stowage_testbed.hostpods.volumes.secret import secret_payload
from stowage_testbed.hostpods.volumes.serviceaccount import TokenSource


@dataclass(frozen=True, slots=True)
class VolumeContents:
    """Reads what a volume shows, whatever its kind; ``None`` for an empty folder."""

    objects: Objects
    tokens: TokenSource
    capacity: Mapping[str, str]

    async def read(self, pod: Manifest, volume: Manifest) -> Payload | None:
        """Return the volume's files as they should be now.

        Raises
        ------
        VolumeNotReadyError
            Something that the volume shows does not exist.
        FeatureNotSupportedError
            A kind of volume that has no place on a host.
        """
        if "emptyDir" in volume:
            return None
        if "projected" in volume:
            return await self._projected(pod, volume["projected"])
        for kind in ("configMap", "secret", "downwardAPI"):
            if kind in volume:
                mode = volume[kind].get("defaultMode", DEFAULT_MODE)
                return await self._source(pod, kind, volume[kind], mode)
        kinds = ", ".join(key for key in volume if key != "name")
        raise FeatureNotSupportedError(
            f"volume {volume['name']!r} is of kind {kinds}; host pods know emptyDir, "
            "configMap, secret, projected and downwardAPI"
        )

    async def _projected(self, pod: Manifest, projected: Manifest) -> Payload:
        mode = projected.get("defaultMode", DEFAULT_MODE)
        payload: Payload = {}
        for source in projected.get("sources", ()):
            for kind, details in source.items():
                payload |= await self._source(pod, kind, details, mode)
        return payload

    async def _source(
        self, pod: Manifest, kind: str, source: Manifest, mode: int
    ) -> Payload:
        match kind:
            case "configMap":
                return await config_map_payload(pod, source, mode, self.objects)
            case "secret":
                return await secret_payload(pod, source, mode, self.objects)
            case "downwardAPI":
                items = source.get("items", ())
                return downward_payload(pod, items, mode, self.capacity)
            case "serviceAccountToken":
                return await self.tokens.payload(pod, source)
        raise FeatureNotSupportedError(
            f"a projected volume's source {kind!r} is not known here; host pods know "
            "configMap, secret, downwardAPI and serviceAccountToken"
        )
