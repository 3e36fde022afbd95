"""Events about pods, as `kubectl describe` shows them."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

from stowage_testbed.api.client import ApiRefusedError, ApiUnreachableError
from stowage_testbed.hostpods.api import ApiServer
from stowage_testbed.hostpods.clock import LoopClock, timestamp
from stowage_testbed.hostpods.manifest import Manifest, pod_key
from stowage_testbed.hostpods.states import ContainerRecord, Running, State, Terminated, Waiting

COMPONENT = "stowage-hostpods"
QUIET = frozenset({"ContainerCreating", "PodInitializing"})

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class EventReporter:
    """Reports each new state of a pod's containers once; best effort, as events are."""

    api: ApiServer
    clock: LoopClock
    _reported: dict[str, State] = field(default_factory=dict)
    _sending: set[asyncio.Task[None]] = field(default_factory=set)

    def report(self, pod: Manifest, record: ContainerRecord) -> None:
        """Report the container's state if it is new."""
        state = record.state
        if self._reported.get(record.name) == state:
            return
        self._reported[record.name] = state
        match state:
            case Waiting(reason, message) if reason not in QUIET:
                self._send(pod, record, "Warning", reason, message)
            case Running():
                self._send(pod, record, "Normal", "Started", "container started")
            case Terminated(code=code, message=message) if code or message:
                text = f"container ended with {code}. {message}".rstrip(". ")
                self._send(pod, record, "Warning", "Ended", text)

    def _send(self, pod: Manifest, record: ContainerRecord, *said: str) -> None:
        task = asyncio.create_task(self._post(pod, record.name, *said))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _post(self, pod: Manifest, container: str, kind: str, reason: str, message: str) -> None:
        metadata = pod["metadata"]
        now = timestamp(self.clock.wall())
        event = {
            "metadata": {"generateName": f"{metadata['name']}."},
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": metadata["name"],
                "namespace": metadata["namespace"],
                "uid": metadata["uid"],
                "fieldPath": f"spec.containers{{{container}}}",
            },
            "type": kind,
            "reason": reason,
            "message": message,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "source": {"component": COMPONENT},
        }
        path = f"/api/v1/namespaces/{metadata['namespace']}/events"
        try:
            await self.api.call("POST", path, event)
        except (ApiRefusedError, ApiUnreachableError) as error:
            _log.info("no event for %s: %s", pod_key(pod), error)
