"""What a pod's volumes show: one folder a volume, filled and kept up to date."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from pathlib import Path

from stowage_testbed.hostpods.api import ApiServer
from stowage_testbed.hostpods.clock import LoopClock
from stowage_testbed.hostpods.errors import HostPodsError
from stowage_testbed.hostpods.manifest import Manifest
from stowage_testbed.hostpods.volume_writing import FileContent, Payload, remove_tree, write_atomically

DEFAULT_LIFETIME_S = 3600
RENEW_AT = 0.8
"""A kubelet asks for a new token when 80 % of the old one's life has passed."""
DEFAULT_MODE = 0o644
TOKEN_MODE = 0o600

_PLURALS = {"ConfigMap": "configmaps", "Secret": "secrets"}


@dataclass(frozen=True, slots=True)
class _Token:
    value: str
    renew: datetime


class Volumes:
    """The volumes of one pod: in ``folder``, one folder a volume, named for it."""

    def __init__(self, folder: Path, api: ApiServer, clock: LoopClock) -> None:
        self.folder = folder
        self._api = api
        self._clock = clock
        self._tokens: dict[str, _Token] = {}

    async def fill(self, pod: Manifest) -> None:
        """Write what has changed since the last time.

        Raises
        ------
        HostPodsError
            Something that a volume shows does not exist, or cannot be read.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        for volume in pod["spec"].get("volumes", ()):
            folder = self.folder / volume["name"]
            if "emptyDir" in volume:
                folder.mkdir(exist_ok=True)
            else:
                write_atomically(folder, await self._payload(pod, volume))

    def remove(self) -> None:
        """Remove all volumes, as the end of a pod does."""
        remove_tree(self.folder)

    async def _payload(self, pod: Manifest, volume: Manifest) -> Payload:
        """Return a volume's files as they should be now."""
        projected = volume.get("projected", {})
        mode = projected.get("defaultMode", DEFAULT_MODE)
        payload: Payload = {}
        for source in projected.get("sources", [volume]):
            if "configMap" in source:
                payload |= await self._keys(pod, "ConfigMap", source["configMap"], mode)
            if "secret" in source:
                payload |= await self._keys(pod, "Secret", source["secret"], mode)
            if "serviceAccountToken" in source:
                payload |= await self._token(pod, source["serviceAccountToken"])
        return payload

    async def _keys(self, pod: Manifest, kind: str, source: Manifest, default_mode: int) -> Payload:
        """Return all keys as files, or those that ``items`` names under its paths."""
        namespace = pod["metadata"]["namespace"]
        name = source.get("secretName") or source["name"]
        path = f"/api/v1/namespaces/{namespace}/{_PLURALS[kind]}/{name}"
        found = await self._api.call("GET", path, allowed={HTTPStatus.NOT_FOUND})
        if not found and not source.get("optional"):
            raise _not_ready(f"{kind} {namespace}/{name} does not exist; create it")
        data = _contents(kind, found)
        mode = source.get("defaultMode", default_mode)
        payload: Payload = {}
        for item in source.get("items") or ({"key": key, "path": key} for key in data):
            if item["key"] in data:
                content = FileContent(data[item["key"]], item.get("mode", mode))
                payload[item["path"]] = content
            elif not source.get("optional"):
                raise _not_ready(f"{kind} {namespace}/{name} has no key {item['key']!r}; add it")
        return payload

    async def _token(self, pod: Manifest, source: Manifest) -> Payload:
        """Return a good token as a file that only its owner can read."""
        path = str(source["path"])
        held = self._tokens.get(path)
        if held is None or self._clock.wall() >= held.renew:
            held = self._tokens[path] = await self._new_token(pod, source)
        return {path: FileContent(held.value.encode(), TOKEN_MODE)}

    async def _new_token(self, pod: Manifest, source: Manifest) -> _Token:
        """Ask for a token of the pod's service account, good while the pod exists."""
        metadata = pod["metadata"]
        account = pod["spec"].get("serviceAccountName", "default")
        bound = {"kind": "Pod", "apiVersion": "v1", "name": metadata["name"], "uid": metadata["uid"]}
        spec = {
            "audiences": [source["audience"]] if source.get("audience") else [],
            "expirationSeconds": source.get("expirationSeconds", DEFAULT_LIFETIME_S),
            "boundObjectRef": bound,
        }
        asked = self._clock.wall()
        accounts = f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts"
        answer = await self._api.call("POST", f"{accounts}/{account}/token", {"spec": spec})
        expires = datetime.fromisoformat(answer["status"]["expirationTimestamp"])
        granted_s = (expires - asked).total_seconds()
        renew = asked + timedelta(seconds=granted_s * RENEW_AT)
        return _Token(answer["status"]["token"], renew)


def _contents(kind: str, found: Manifest) -> dict[str, bytes]:
    if kind == "Secret":
        encoded, text = found.get("data", {}), {}
    else:
        encoded, text = found.get("binaryData", {}), found.get("data", {})
    return {
        **{key: value.encode() for key, value in text.items()},
        **{key: base64.b64decode(value) for key, value in encoded.items()},
    }


def _not_ready(cause: str) -> HostPodsError:
    return HostPodsError("VolumeNotReady", f"{cause}, or mark the volume optional")
