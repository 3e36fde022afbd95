"""The API server, asked by path and answering with plain JSON objects."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from stowage_testbed.api.client import JSON, ApiRefusedError, ApiUnreachableError, ask, new_api_client

Manifest = Mapping[str, Any]
"""One decoded JSON object. A kubelet passes objects on; it does not own their model."""

STRATEGIC_PATCH = "application/strategic-merge-patch+json"
REQUEST_TIMEOUT_S = 60.0
SHORT_UID = 8


def short_uid(pod: Manifest) -> str:
    """Return what of the pod's UID names its folder: short, for the paths of Unix sockets have 108 bytes at most."""
    return str(pod["metadata"]["uid"])[:SHORT_UID]


def pod_key(pod: Manifest) -> str:
    """Return ``namespace/name``, for logs and messages."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


class ApiServer:
    """A connection with the daemon's own credentials; pods never get them."""

    def __init__(self, kubeconfig: Path) -> None:
        self.client = new_api_client(kubeconfig)

    @property
    def url(self) -> str:
        """The server's address as the kubeconfig has it."""
        return str(self.client.configuration.host)

    async def call(
        self,
        method: str,
        path: str,
        body: Manifest | None = None,
        *,
        content: str = JSON,
        allowed: Collection[int] = (),
    ) -> Manifest:
        """Return the object in the answer to a request; empty where the server refused with a status ``allowed``.

        Raises `ApiRefusedError` when the server said no, `ApiUnreachableError` when it said nothing.
        """
        what = f"{method} {path}"

        def answer() -> Manifest:
            return ask(
                self.client, method, path, what, body, timeout_s=REQUEST_TIMEOUT_S, content=content, allowed=allowed
            )

        try:
            return await asyncio.to_thread(answer)
        except ApiRefusedError as error:
            if error.status == HTTPStatus.TOO_MANY_REQUESTS or error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise ApiUnreachableError(what, f"{error.status}: {error.body}") from error
            raise
        except ValueError as error:  # half an answer
            raise ApiUnreachableError(what, str(error)) from error
