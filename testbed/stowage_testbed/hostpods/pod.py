"""One pod's life: volumes, containers, and an orderly end."""

from __future__ import annotations

import asyncio
import logging

from stowage_testbed.api.client import ApiRefusedError, ApiUnreachableError
from stowage_testbed.base.errors import StowageError
from stowage_testbed.hostpods.api import ApiServer
from stowage_testbed.hostpods.attempt import PodSandbox
from stowage_testbed.hostpods.backoff import Backoff
from stowage_testbed.hostpods.cancelling import cancel_and_wait
from stowage_testbed.hostpods.container import DEFAULT_GRACE_S, ContainerRunner
from stowage_testbed.hostpods.errors import HostPodsError
from stowage_testbed.hostpods.events import EventReporter
from stowage_testbed.hostpods.manifest import Manifest, pod_key
from stowage_testbed.hostpods.reporter import StatusReporter
from stowage_testbed.hostpods.states import Running, Waiting, first_record
from stowage_testbed.hostpods.status import PodState, StatusComposer
from stowage_testbed.hostpods.supported import asks_for_the_host, unsupported_fields
from stowage_testbed.hostpods.volumes import Volumes

VOLUME_REFRESH_S = 30.0
"""How often tokens and ConfigMaps are looked at again."""

_NOT_FILLED = (HostPodsError, ApiRefusedError, ApiUnreachableError)

_log = logging.getLogger(__name__)


class PodRunner:
    """Runs one pod until it is deleted."""

    def __init__(self, pod: Manifest, api: ApiServer, sandbox: PodSandbox, volumes: Volumes) -> None:
        self._pod = pod
        self._sandbox = sandbox
        self._volumes = volumes
        self._clock = sandbox.clock
        self._deleted = asyncio.Event()
        self._volumes_ready = False
        self._finished = False
        self._composer = StatusComposer(self._clock.wall())
        self._reporter = StatusReporter(api, self._clock, pod, self._status)
        self._events = EventReporter(api, self._clock)
        former = {status["name"]: status for status in pod.get("status", {}).get("containerStatuses", ())}
        self._runners = [
            ContainerRunner(
                pod, container, first_record(container, former.get(container["name"])), sandbox, changed=self._changed
            )
            for container in pod["spec"]["containers"]
        ]

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
        await cancel_and_wait(reporting)
        await self._reporter.flush()
        await self._reporter.remove_pod()
        _log.info("pod %s is gone", pod_key(self._pod))

    async def abandon(self, grace_s: float) -> None:
        """Stop the containers without a word to the API server: the daemon ends."""
        await asyncio.gather(*(runner.stop(grace_s) for runner in self._runners))
        self._sandbox.mounts.unlink()

    async def _end(self, living: asyncio.Task[None], grace_s: float) -> None:
        """Stop everything and clear away what only the pod used."""
        await asyncio.gather(*(runner.stop(grace_s) for runner in self._runners))
        await cancel_and_wait(living)
        self._finished = True
        self._sandbox.mounts.unlink()
        self._volumes.remove()

    async def _live(self) -> None:
        """Bring the pod up and keep it, unless it asks for what is not played here."""
        if not asks_for_the_host(self._pod):
            _log.info("nothing is started of pod %s", pod_key(self._pod))
            self._pretend()
            return
        if refused := unsupported_fields(self._pod):
            message = (
                f"host pods do not play {', '.join(refused)}; leave that out, or run "
                "the release in containers with --backend kind"
            )
            _log.warning("pod %s is refused: %s", pod_key(self._pod), message)
            self._all_wait(Waiting("NotSupportedOnHost", message))
            return
        self._reporter.changed()
        await self._first_fill()
        async with asyncio.TaskGroup() as keeping:
            keeping.create_task(self._refresh_volumes())
            for runner in self._runners:
                keeping.create_task(runner.run())

    def _pretend(self) -> None:
        """Report what a fake node would."""
        self._volumes_ready = True
        for runner in self._runners:
            runner.record.state = Running(self._clock.wall())
            runner.record.started = runner.record.ready = True
        self._changed()

    async def _first_fill(self) -> None:
        """Fill the volumes; whatever is missing may still come."""
        backoff = Backoff(self._sandbox.backoff)
        while True:
            try:
                await self._volumes.fill(self._pod)
            except _NOT_FILLED as error:
                _log.warning("pod %s waits: %s", pod_key(self._pod), error)
                self._all_wait(Waiting(_reason(error), str(error)))
                await self._clock.pause(backoff.after_run(0.0))
            else:
                self._volumes_ready = True
                self._all_wait(Waiting("PodInitializing"))
                return

    async def _refresh_volumes(self) -> None:
        while True:
            await self._clock.pause(VOLUME_REFRESH_S)
            try:
                await self._volumes.fill(self._pod)
            except _NOT_FILLED as error:
                _log.warning("volumes of %s stay old: %s", pod_key(self._pod), error)

    def _all_wait(self, waiting: Waiting) -> None:
        for runner in self._runners:
            runner.record.state = waiting
        self._changed()

    def _changed(self) -> None:
        for runner in self._runners:
            self._events.report(self._pod, runner.record)
        self._reporter.changed()

    def _status(self) -> Manifest:
        state = PodState(
            volumes_ready=self._volumes_ready,
            containers=[runner.record for runner in self._runners],
            finished=self._finished,
        )
        return self._composer.compose(self._pod, state, self._clock.wall())


def _reason(error: StowageError) -> str:
    """Return the word for why a pod's volumes could not be filled."""
    if isinstance(error, HostPodsError):
        return error.reason
    refused = isinstance(error, ApiRefusedError)
    return "ApiServerRefused" if refused else "ApiServerUnreachable"
