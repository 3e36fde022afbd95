"""The API server, asked by path and answering with plain JSON objects."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import urllib3

from stowage_testbed.api.client import (
    JSON,
    ApiRefusedError,
    ApiUnreachableError,
    new_api_client,
    send,
)
from stowage_testbed.hostpods.manifest import Manifest

STRATEGIC_PATCH = "application/strategic-merge-patch+json"
REQUEST_TIMEOUT_S = 60.0


class ApiServer:
    """A connection with the daemon's own credentials; pods never get them."""

    def __init__(self, kubeconfig: Path) -> None:
        self._client = new_api_client(kubeconfig)

    @property
    def url(self) -> str:
        """The server's address as the kubeconfig has it."""
        return str(self._client.configuration.host)

    async def get(self, path: str) -> Manifest | None:
        """Return the object at a path, or ``None`` if there is none.

        Raises
        ------
        ApiRefusedError, ApiUnreachableError
            Any other answer than the object or 404; no answer.
        """
        try:
            return await self.call("GET", path)
        except ApiRefusedError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    async def call(
        self,
        method: str,
        path: str,
        body: Manifest | None = None,
        content_type: str = JSON,
    ) -> Manifest:
        """Send one request and return the object in the answer.

        Raises
        ------
        ApiRefusedError, ApiUnreachableError
            The server said no; the server said nothing.
        """
        return await asyncio.to_thread(
            self._call_blocking, method, path, body, content_type
        )

    def stream(self, path: str, query: Mapping[str, str]) -> Iterator[Manifest]:
        """Yield the lines of a watch; blocks, so a thread of its own must call it."""
        response = self._send("GET", f"{path}?{urlencode(query)}", None, JSON, None)
        try:
            pending = b""
            for chunk in response.stream(amt=None, decode_content=False):
                *lines, pending = (pending + chunk).split(b"\n")
                yield from (json.loads(line) for line in lines if line)
        except urllib3.exceptions.HTTPError as error:
            raise ApiUnreachableError(f"GET {path}", str(error)) from error
        finally:
            response.close()

    def list(self, path: str, query: Mapping[str, str]) -> Manifest:
        """Return a list object; blocks."""
        return self._call_blocking("GET", f"{path}?{urlencode(query)}", None, JSON)

    def _call_blocking(
        self, method: str, path: str, body: Manifest | None, content_type: str
    ) -> Manifest:
        response = self._send(method, path, body, content_type, REQUEST_TIMEOUT_S)
        try:
            answer: Manifest = json.loads(response.data)
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise ApiUnreachableError(f"{method} {path}", str(error)) from error
        return answer

    def _send(
        self,
        method: str,
        path: str,
        body: Manifest | None,
        content_type: str,
        timeout_s: float | None,
    ) -> Any:  # urllib3's response
        """Send a request; a server that is overloaded or broken has not answered."""
        what, plain = f"{method} {path}", dict(body) if body is not None else None
        options: dict[str, Any] = {"content": content_type, "timeout_s": timeout_s}
        try:
            return send(self._client, method, path, what, plain, **options)
        except ApiRefusedError as error:
            overloaded = error.status == HTTPStatus.TOO_MANY_REQUESTS
            if overloaded or error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                cause = f"{error.status}: {error.body}"
                raise ApiUnreachableError(what, cause) from error
            raise
