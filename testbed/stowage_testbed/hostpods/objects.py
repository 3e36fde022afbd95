"""The objects that a pod's spec refers to."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from stowage_testbed.hostpods.api import ApiServer
from stowage_testbed.hostpods.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Token:
    """A service account token and the moment it stops being good."""

    value: str
    expires: datetime


class Objects(Protocol):
    """Reads what pods refer to; ``None`` means that it does not exist."""

    async def config_map(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        """Return a ConfigMap's keys, binary ones included."""
        ...

    async def secret(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        """Return a Secret's keys, decoded."""
        ...

    async def token(
        self, pod: Manifest, audience: str | None, lifetime_s: int
    ) -> Token:
        """Return a new token of the pod's service account, bound to the pod."""
        ...


@dataclass(frozen=True, slots=True)
class ApiObjects:
    """Reads them from the API server."""

    api: ApiServer

    async def config_map(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        """Return a ConfigMap's keys, binary ones included."""
        found = await self.api.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}")
        if found is None:
            return None
        text = {key: value.encode() for key, value in found.get("data", {}).items()}
        return text | _decoded(found.get("binaryData", {}))

    async def secret(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        """Return a Secret's keys, decoded."""
        found = await self.api.get(f"/api/v1/namespaces/{namespace}/secrets/{name}")
        return None if found is None else _decoded(found.get("data", {}))

    async def token(
        self, pod: Manifest, audience: str | None, lifetime_s: int
    ) -> Token:
        """Return a new token from the TokenRequest API, good while the pod exists."""
        metadata = pod["metadata"]
        account = pod["spec"].get("serviceAccountName", "default")
        answer = await self.api.call(
            "POST",
            f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}/token",
            {
                "spec": {
                    "audiences": [audience] if audience else [],
                    "expirationSeconds": lifetime_s,
                    "boundObjectRef": {
                        "kind": "Pod",
                        "apiVersion": "v1",
                        "name": metadata["name"],
                        "uid": metadata["uid"],
                    },
                }
            },
        )
        status = answer["status"]
        expires = datetime.fromisoformat(status["expirationTimestamp"])
        return Token(status["token"], expires)


def _decoded(data: Mapping[str, str]) -> dict[str, bytes]:
    return {key: base64.b64decode(value) for key, value in data.items()}
