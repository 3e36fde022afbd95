"""The API server, asked by path and answering with plain JSON objects, and the watch on a node's pods."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import urllib3

from stowage_testbed.api.client import JSON, ApiRefusedError, ApiUnreachableError, ask, new_api_client, send
from stowage_testbed.base.clock import Clock

Manifest = Mapping[str, Any]
"""One decoded JSON object. A kubelet passes objects on; it does not own their model."""

STRATEGIC_PATCH = "application/strategic-merge-patch+json"
REQUEST_TIMEOUT_S = 60.0
SHORT_UID = 8
PODS = "/api/v1/pods"
WATCH_S = 300
RECONNECT_S = 0.5

_log = logging.getLogger(__name__)


def short_uid(pod: Manifest) -> str:
    """Return the part of the pod's UID that names its folder.

    Eight characters keep the paths of Unix sockets under the kernel's 108 bytes.
    """
    return str(pod["metadata"]["uid"])[:SHORT_UID]


def pod_key(pod: Manifest) -> str:
    """Return ``namespace/name``, for logs and messages."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


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
        """Return the object in the answer to a request; empty where the server refused with a status ``allowed``.

        Raises `ApiRefusedError` when the server said no, `ApiUnreachableError` when it said nothing.
        """
        options: dict[str, Any] = {"content": content, "allowed": allowed}
        return await asyncio.to_thread(self._ask, method, path, body, **options)

    def list(self, path: str, query: Mapping[str, str]) -> Manifest:
        """Return a list object; blocks."""
        return self._ask("GET", path, query=[*query.items()])

    def stream(self, path: str, query: Mapping[str, str]) -> Iterator[Manifest]:
        """Yield the lines of a watch; blocks, so a thread of its own must call it."""
        what = f"GET {path}"
        with _unreachable_if_overloaded(what):
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
        with _unreachable_if_overloaded(what):
            return ask(self._client, method, path, what, *body, timeout_s=REQUEST_TIMEOUT_S, **options)


@contextmanager
def _unreachable_if_overloaded(what: str) -> Iterator[None]:
    try:
        yield
    except ApiRefusedError as error:
        if error.status == HTTPStatus.TOO_MANY_REQUESTS or error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise ApiUnreachableError(what, f"{error.status}: {error.body}") from error
        raise
    except ValueError as error:  # half an answer
        raise ApiUnreachableError(what, str(error)) from error


class PodWatch:
    """Lists a node's pods, then watches from there; lists again when the server forgot the place.

    From the watching thread it calls ``listed`` with every pod after each listing, and ``changed`` with ``ADDED``,
    ``MODIFIED`` or ``DELETED`` and the pod after each change.
    """

    def __init__(
        self,
        api: ApiServer,
        node: str,
        listed: Callable[[list[Manifest]], object],
        changed: Callable[[str, Manifest], object],
    ) -> None:
        self._api = api
        self._selector = {"fieldSelector": f"spec.nodeName={node}"}
        self._listed = listed
        self._changed = changed

    def run(self, clock: Clock) -> None:
        """Watch for ever; a server that is away is asked again."""
        version = None
        while True:
            try:
                version = self._follow(version or self._list())
            except (ApiRefusedError, ApiUnreachableError) as error:
                _log.warning("pods cannot be watched, trying again: %s", error)
                version = None
                clock.pause(RECONNECT_S)

    def _list(self) -> str:
        answer = self._api.list(PODS, self._selector)
        self._listed(list(answer["items"]))
        return str(answer["metadata"]["resourceVersion"])

    def _follow(self, version: str) -> str | None:
        """Hand on changes until the watch ends; ``None`` asks for a new listing."""
        query = {
            **self._selector,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(WATCH_S),
        }
        for event in self._api.stream(PODS, query):
            if event["type"] == "ERROR":  # most of all 410 Gone: the place is forgotten
                _log.info("listing anew: %s", event["object"].get("message"))
                return None
            version = event["object"]["metadata"]["resourceVersion"]
            if event["type"] != "BOOKMARK":
                self._changed(event["type"], event["object"])
        return version
