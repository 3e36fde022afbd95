"""One pod's life: volumes, init containers, containers, and an orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass

from stowage_testbed.hostpods.api import ApiServer
from stowage_testbed.hostpods.backoff import Backoff
from stowage_testbed.hostpods.container import DEFAULT_GRACE_S, ContainerRunner
from stowage_testbed.hostpods.errors import HostPodsError
from stowage_testbed.hostpods.events import EventReporter
from stowage_testbed.hostpods.manifest import Manifest, pod_key
from stowage_testbed.hostpods.reporter import StatusReporter
from stowage_testbed.hostpods.sandbox import PodSandbox
from stowage_testbed.hostpods.states import Terminated, Waiting, first_record
from stowage_testbed.hostpods.status import PodState, StatusComposer
from stowage_testbed.hostpods.volumes.folder import VolumesFolder

VOLUME_REFRESH_S = 30.0
"""How often tokens and ConfigMaps are looked at again."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PodContext:
    """What the node gives to one pod."""

    api: ApiServer
    sandbox: PodSandbox
    volumes: VolumesFolder


class PodRunner:
    """Runs one pod until it is deleted.

    Parameters
    ----------
    pod
        The pod as first seen.
    context
        Its folder and the node's services.
    """

    def __init__(self, pod: Manifest, context: PodContext) -> None:
        self._pod = pod
        self._context = context
        self._clock = context.sandbox.clock
        self._deleted = asyncio.Event()
        self._volumes_ready = False
        self._initialized = False
        self._finished = False
        self._composer = StatusComposer(self._clock.wall())
        self._reporter = StatusReporter(context.api, self._clock, pod, self._status)
        self._events = EventReporter(context.api, self._clock)
        policy = pod["spec"].get("restartPolicy", "Always")
        self._init = self._runners(
            "initContainers", "OnFailure" if policy == "Always" else policy
        )
        self._main = self._runners("containers", policy)

    def update(self, pod: Manifest) -> None:
        """Take note of a newer version: labels, annotations, or its deletion."""
        self._pod = pod
        if "deletionTimestamp" in pod["metadata"]:
            self._deleted.set()

    def vanished(self) -> None:
        """Take note that the API server does not have the pod any more."""
        self._deleted.set()

    async def run(self) -> None:
        """Return when the pod has been deleted, here and on the API server."""
        reporting = asyncio.create_task(self._reporter.run())
        living = asyncio.create_task(self._live())
        await self._deleted.wait()
        default_s = self._pod["spec"].get("terminationGracePeriodSeconds")
        grace_s = self._pod["metadata"].get("deletionGracePeriodSeconds", default_s)
        grace_s = DEFAULT_GRACE_S if grace_s is None else grace_s
        _log.info("pod %s ends, grace %g s", pod_key(self._pod), grace_s)
        await self._end(living, grace_s)
        reporting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reporting
        await self._reporter.flush()
        await self._reporter.remove_pod()
        _log.info("pod %s is gone", pod_key(self._pod))

    async def abandon(self, grace_s: float) -> None:
        """Stop the containers without a word to the API server: the daemon ends."""
        runners = [*self._init, *self._main]
        await asyncio.gather(*(runner.stop(grace_s) for runner in runners))
        self._context.sandbox.mounts.unlink()

    async def _end(self, living: asyncio.Task[None], grace_s: float) -> None:
        """Stop everything and clear away what only the pod used."""
        runners = [*self._init, *self._main]
        await asyncio.gather(*(runner.stop(grace_s) for runner in runners))
        living.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await living
        self._finished = True
        self._context.sandbox.mounts.unlink()
        self._context.volumes.remove()

    async def _live(self) -> None:
        """Bring the pod up and keep it; end when every container has ended."""
        self._reporter.changed()
        await self._first_fill()
        async with asyncio.TaskGroup() as keeping:
            refreshing = keeping.create_task(self._refresh_volumes())
            sidecars = [runner for runner in self._init if runner.is_sidecar]
            if await self._initialize(keeping):
                self._initialized = True
                self._reporter.changed()
                await asyncio.gather(*(runner.run() for runner in self._main))
            await asyncio.gather(*(runner.stop(DEFAULT_GRACE_S) for runner in sidecars))
            refreshing.cancel()
        self._finished = True
        self._reporter.changed()

    async def _first_fill(self) -> None:
        """Fill the volumes; whatever is missing may still come."""
        backoff = Backoff(self._context.sandbox.backoff)
        while True:
            try:
                await self._context.volumes.fill(self._pod)
            except HostPodsError as error:
                _log.warning("pod %s waits: %s", pod_key(self._pod), error)
                self._all_wait(Waiting(error.reason, str(error)))
                await self._clock.pause(backoff.after_run(0.0))
            else:
                self._volumes_ready = True
                self._all_wait(Waiting("PodInitializing"))
                return

    async def _initialize(self, keeping: asyncio.TaskGroup) -> bool:
        """Run the init containers one after the other; sidecars stay."""
        for runner in self._init:
            if runner.is_sidecar:
                keeping.create_task(runner.run())
                await runner.healthy.wait()
                continue
            await runner.run()
            state = runner.record.state
            if not (isinstance(state, Terminated) and state.code == 0):
                return False
            runner.record.ready = True
        return True

    async def _refresh_volumes(self) -> None:
        while True:
            await self._clock.pause(VOLUME_REFRESH_S)
            try:
                await self._context.volumes.fill(self._pod)
            except HostPodsError as error:
                _log.warning("volumes of %s stay old: %s", pod_key(self._pod), error)

    def _runners(self, key: str, policy: str) -> list[ContainerRunner]:
        former = {
            status["name"]: status
            for side in ("initContainerStatuses", "containerStatuses")
            for status in self._pod.get("status", {}).get(side, ())
        }
        return [
            ContainerRunner(
                self._pod,
                container,
                first_record(container, former.get(container["name"])),
                container.get("restartPolicy", policy),
                self._context.sandbox,
                changed=self._changed,
            )
            for container in self._pod["spec"].get(key, ())
        ]

    def _all_wait(self, waiting: Waiting) -> None:
        for runner in (*self._init, *self._main):
            runner.record.state = waiting
        self._changed()

    def _changed(self) -> None:
        for runner in (*self._init, *self._main):
            self._events.report(self._pod, runner.record)
        self._reporter.changed()

    def _status(self) -> Manifest:
        state = PodState(
            volumes_ready=self._volumes_ready,
            initialized=self._initialized,
            init=[runner.record for runner in self._init],
            containers=[runner.record for runner in self._main],
            finished=self._finished,
        )
        return self._composer.compose(self._pod, state, self._clock.wall())
