"""Writes a pod's status to the API server, after each change and until it is taken."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from http import HTTPStatus

from stowage_testbed.api.client import ApiUnreachableError
from stowage_testbed.hostpods.api import STRATEGIC_PATCH, ApiServer
from stowage_testbed.hostpods.clock import LoopClock
from stowage_testbed.hostpods.manifest import Manifest, pod_key, pod_path

RETRY_S = 0.5
_GONE = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT})
"""Answers about a pod that is not there, or whose name is another's."""

_log = logging.getLogger(__name__)


class StatusReporter:
    """Sends the newest status; several changes in a row may become one message.

    The pod's UID is a precondition of every message.
    """

    def __init__(self, api: ApiServer, clock: LoopClock, pod: Manifest, compose: Callable[[], Manifest]) -> None:
        self._api = api
        self._clock = clock
        self._pod = pod
        self._compose = compose
        self._changed = asyncio.Event()
        self._sent: Manifest | None = None

    def changed(self) -> None:
        """Ask for a message soon."""
        self._changed.set()

    async def run(self) -> None:
        """Send for ever."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            await self.flush()

    async def flush(self) -> None:
        """Send the status as it is now, unless the server has it already."""
        while (status := self._compose()) != self._sent:
            try:
                await self._send(status)
            except ApiUnreachableError as error:
                _log.warning("status of %s not written: %s", pod_key(self._pod), error)
                await self._clock.pause(RETRY_S)
            else:
                self._sent = status

    async def remove_pod(self) -> None:
        """Delete the pod for good: its processes are gone."""
        metadata = self._pod["metadata"]
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": metadata["uid"]}}
        while True:
            try:
                await self._api.call("DELETE", pod_path(self._pod), body, allowed=_GONE)
            except ApiUnreachableError as error:
                _log.warning("%s not deleted: %s", pod_key(self._pod), error)
                await self._clock.pause(RETRY_S)
            else:
                return

    async def _send(self, status: Manifest) -> None:
        body = {"metadata": {"uid": self._pod["metadata"]["uid"]}, "status": status}
        path = f"{pod_path(self._pod)}/status"
        taken = await self._api.call("PATCH", path, body, content=STRATEGIC_PATCH, allowed=_GONE)
        if not taken:
            _log.info("%s is gone, status dropped", pod_key(self._pod))
