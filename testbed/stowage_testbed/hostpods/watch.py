"""The pods of one node, as they come, change and go."""

from __future__ import annotations

import logging
from collections.abc import Callable

from stowage_testbed.api.client import ApiRefusedError, ApiUnreachableError
from stowage_testbed.base.clock import Clock
from stowage_testbed.hostpods.api import ApiServer
from stowage_testbed.hostpods.manifest import Manifest

PODS = "/api/v1/pods"
WATCH_S = 300
RECONNECT_S = 0.5

_log = logging.getLogger(__name__)

Listed = Callable[[list[Manifest]], None]
Changed = Callable[[str, Manifest], None]


class PodWatch:
    """Lists, then watches from there; lists again when the server forgot the place.

    Parameters
    ----------
    listed, changed
        Called from the watching thread: with every pod there is, after each listing;
        with ``ADDED``, ``MODIFIED`` or ``DELETED`` and the pod, after each change.
    """

    def __init__(self, api: ApiServer, node: str, listed: Listed, changed: Changed) -> None:
        self._api = api
        self._selector = {"fieldSelector": f"spec.nodeName={node}"}
        self._listed = listed
        self._changed = changed

    def run(self, clock: Clock) -> None:
        """Watch for ever; a server that is away is asked again."""
        version = None
        while True:
            try:
                version = version or self._list()
                version = self._follow(version)
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
