"""The API server, asked by path and answering with plain JSON objects."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import urllib3

from stowage_testbed.api.client import JSON, ApiRefusedError, ApiUnreachableError, ask, new_api_client, send
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

    async def call(
        self,
        method: str,
        path: str,
        body: Manifest | None = None,
        *,
        content: str = JSON,
        allowed: Collection[int] = (),
    ) -> Manifest:
        """Send one request and return the object in the answer.

        It is empty where the server refused with one of the statuses ``allowed``.

        Raises
        ------
        ApiRefusedError, ApiUnreachableError
            The server said no; the server said nothing.
        """
        options: dict[str, Any] = {"content": content, "allowed": allowed}
        return await asyncio.to_thread(self._ask, method, path, body, **options)

    def list(self, path: str, query: Mapping[str, str]) -> Manifest:
        """Return a list object; blocks."""
        return self._ask("GET", path, query=[*query.items()])

    def stream(self, path: str, query: Mapping[str, str]) -> Iterator[Manifest]:
        """Yield the lines of a watch; blocks, so a thread of its own must call it."""
        what = f"GET {path}"
        with _answering(what):
            response = send(self._client, "GET", path, what, query=[*query.items()])
        try:
            pending = b""
            for chunk in response.stream(amt=None, decode_content=False):
                *lines, pending = (pending + chunk).split(b"\n")
                yield from (json.loads(line) for line in lines if line)
        except urllib3.exceptions.HTTPError as error:
            raise ApiUnreachableError(what, str(error)) from error
        finally:
            response.close()

    def _ask(self, method: str, path: str, *body: Any, **options: Any) -> Manifest:
        what = f"{method} {path}"
        with _answering(what):
            return ask(self._client, method, path, what, *body, timeout_s=REQUEST_TIMEOUT_S, **options)


@contextmanager
def _answering(what: str) -> Iterator[None]:
    """Take a server that is overloaded or broken for one that has not answered."""
    try:
        yield
    except ApiRefusedError as error:
        overloaded = error.status == HTTPStatus.TOO_MANY_REQUESTS
        if overloaded or error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            cause = f"{error.status}: {error.body}"
            raise ApiUnreachableError(what, cause) from error
        raise
    except ValueError as error:  # half an answer
        raise ApiUnreachableError(what, str(error)) from error
