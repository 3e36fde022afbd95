"""One container: kept running until its pod ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from stowage_testbed.hostpods.attempt import Attempt, PodSandbox, start_attempt
from stowage_testbed.hostpods.backoff import Backoff
from stowage_testbed.hostpods.cancelling import cancel_and_wait
from stowage_testbed.hostpods.ended import EndedContainer, EndedContainers
from stowage_testbed.hostpods.errors import HostPodsError
from stowage_testbed.hostpods.manifest import Manifest, pod_key
from stowage_testbed.hostpods.states import ContainerRecord, Running, Terminated, Waiting

DEFAULT_GRACE_S = 30

_log = logging.getLogger(__name__)


class ContainerRunner:
    """Starts a container, and starts it again with back-off.

    The record is the container's line in the status; only this runner and its attempts
    write it. ``changed`` is called after each change.
    """

    def __init__(
        self,
        pod: Manifest,
        container: Manifest,
        record: ContainerRecord,
        sandbox: PodSandbox,
        *,
        changed: Callable[[], None],
    ) -> None:
        self._pod = pod
        self._container = container
        self.record = record
        self._sandbox = sandbox
        self._changed = changed
        self._backoff = Backoff(sandbox.backoff)
        self._stopping = asyncio.Event()
        self._attempt: Attempt | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    async def run(self) -> None:
        """Keep it running; return when it was asked to stop."""
        while not self._stopping.is_set():
            began = self._sandbox.clock.now()
            self._idle.clear()
            await self._try_once()
            self._idle.set()
            if not self._stopping.is_set():
                await self._back_off(self._sandbox.clock.now() - began)

    async def stop(self, grace_s: float) -> None:
        """End the container for good; after the grace period by force."""
        self._stopping.set()
        if self._attempt is not None:
            await self._attempt.end(grace_s)
        await self._idle.wait()

    async def _try_once(self) -> None:
        """Run once, from start to end, or show why it could not be started."""
        grace_s = self._pod["spec"].get("terminationGracePeriodSeconds", DEFAULT_GRACE_S)
        try:
            attempt = await start_attempt(self._container, self._sandbox, grace_s, self.record, self._changed)
        except HostPodsError as error:
            _log.warning("container %s waits: %s", self.record.name, error)
            self._show(Waiting(error.reason, str(error)))
            return
        self._attempt = attempt
        since = self._sandbox.clock.wall()
        _log.info("container %s runs as %d", self.record.name, attempt.process.pid)
        self._show(Running(since))
        if self._stopping.is_set():  # asked to stop while starting
            attempt.process.kill()
        ended = await attempt.run()
        self._attempt = None
        _log.info("container %s ended with %d", self.record.name, ended.code)
        meant = self._stopping.is_set() or attempt.unhealthy_reason
        if self.record.ready and not meant:
            folder, name = self._sandbox.folder, self.record.name
            log = f"{folder}/{name}.log"
            end = EndedContainer(pod_key(self._pod), name, ended.code, log)
            EndedContainers(folder.parents[1]).add(end)
        self.record.ready = self.record.started = False
        until = self._sandbox.clock.wall()
        self._show(Terminated(ended.code, since, until, attempt.unhealthy_reason))

    async def _back_off(self, ran_s: float) -> None:
        """Wait as long as the back-off requires, or until asked to stop."""
        delay_s = self._backoff.after_run(ran_s)
        ended = isinstance(self.record.state, Terminated)
        if isinstance(self.record.state, Terminated):
            self.record.last = self.record.state
            if delay_s:
                message = f"back-off {delay_s:g} s before container is started again"
                self._show(Waiting("CrashLoopBackOff", message))
        pause = asyncio.create_task(self._sandbox.clock.pause(delay_s))
        stop = asyncio.create_task(self._stopping.wait())
        await asyncio.wait({pause, stop}, return_when=asyncio.FIRST_COMPLETED)
        for waiting in (pause, stop):
            await cancel_and_wait(waiting)
        if ended and not self._stopping.is_set():
            self.record.restarts += 1

    def _show(self, state: Waiting | Running | Terminated) -> None:
        self.record.state = state
        self._changed()
