"""One container: its command as a process, with its probes, kept running until its pod ends."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from stowage_testbed.base.files import write_whole
from stowage_testbed.hostpods import EndedContainer, EndedContainers
from stowage_testbed.hostpods.node import (
    ApiServer,
    Backoff,
    HostPodsError,
    LoopClock,
    Manifest,
    cancel_and_wait,
    pod_key,
)
from stowage_testbed.hostpods.probes import Prober
from stowage_testbed.hostpods.process import ContainerProcess, container_environment, expand, start_process
from stowage_testbed.hostpods.status import ContainerRecord, running, terminated, waiting
from stowage_testbed.hostpods.volumes import Volumes

DEFAULT_GRACE_S = 30

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PodSandbox:
    """Where a pod's containers run: its folder, its volumes, and the node around it."""

    folder: Path
    volumes: Volumes
    api: ApiServer
    clock: LoopClock
    longest_backoff_s: float


class ContainerRunner:
    """Starts a container, and again with back-off; writes its record, and calls ``changed`` after each change."""

    def __init__(
        self,
        pod: Manifest,
        container: Manifest,
        record: ContainerRecord,
        sandbox: PodSandbox,
        *,
        changed: Callable[[], None],
    ) -> None:
        self.record = record
        self._pod, self._container, self._sandbox, self._changed = pod, container, sandbox, changed
        self._grace_s: float = pod["spec"].get("terminationGracePeriodSeconds", DEFAULT_GRACE_S)
        self._backoff = Backoff(sandbox.longest_backoff_s)
        self._stopping, self._idle = asyncio.Event(), asyncio.Event()
        self._idle.set()
        # Of the present run:
        self._process: ContainerProcess | None = None
        self._unhealthy = ""

    async def run(self) -> None:
        """Keep it running; return when it was asked to stop."""
        clock = self._sandbox.clock
        while not self._stopping.is_set():
            began = clock.now()
            self._idle.clear()
            try:
                await self._run_once()
            except HostPodsError as error:
                _log.warning("container %s waits: %s", self.record.name, error)
                self._show(waiting(error.reason, str(error)))
            self._idle.set()
            if not self._stopping.is_set():
                await self._back_off(clock.now() - began)

    async def stop(self, grace_s: float) -> None:
        """End the container for good; after the grace period by force."""
        self._stopping.set()
        if self._process is not None:
            await self._process.end(grace_s)
        await self._idle.wait()

    async def _run_once(self) -> None:
        """Run from the start of the process to its end; a `HostPodsError` if it cannot be started."""
        clock, record = self._sandbox.clock, self.record
        process = await self._start()
        self._process, self._unhealthy = process, ""
        since = clock.wall()
        _log.info("container %s runs as %d", record.name, process.pid)
        self._show(running(since))
        if self._stopping.is_set():  # asked to stop while starting
            process.kill()
        probing = asyncio.create_task(self._watch_health(process))
        code, _ = await process.wait()
        await cancel_and_wait(probing)
        self._process = None
        _log.info("container %s ended with %d", record.name, code)
        if record.ready and not self._stopping.is_set() and not self._unhealthy:
            end = EndedContainer(pod_key(self._pod), record.name, code, str(self._log_file))
            EndedContainers(self._sandbox.folder.parents[1]).add(end)
        record.ready = record.started = False
        self._show(terminated(code, since, clock.wall(), self._unhealthy))

    @property
    def _log_file(self) -> Path:
        return self._sandbox.folder / f"{self.record.name}.log"

    async def _start(self) -> ContainerProcess:
        """Start the command with its mounts, variables and log."""
        container, sandbox = self._container, self._sandbox
        name = container["name"]
        if not container.get("command"):
            raise HostPodsError(
                "ImageHasNoHostCommand",
                f"container {name!r} has no command: host pods run commands of this "
                f"machine, never image {container.get('image', '')!r}; set the container's "
                "command to a local program",
            )
        sandbox.volumes.link(container)
        env = container_environment(container, sandbox.api.url)
        argv = [expand(word, env) for word in (*container["command"], *container.get("args", ()))]
        cwd = Path(container.get("workingDir") or sandbox.folder)
        process = await start_process(argv, env, cwd, self._log_file)
        # Whole at once: others may read it at any moment.
        write_whole(sandbox.folder / f"{name}.pid", f"{process.pid}\n")
        return process

    async def _watch_health(self, process: ContainerProcess) -> None:
        """Run the startup probe, then the others side by side."""

        def prober(kind: str, on_failure: Callable[[str], None] = lambda _: None) -> Prober | None:
            if f"{kind}Probe" not in self._container:
                return None
            return Prober(kind, self._container, process.env, process.cwd, self._sandbox.clock, on_failure)

        def end_unhealthy(prober: Prober, failure: str) -> None:
            if failure and process.ending is None:
                self._unhealthy = f"{prober.kind} probe failed: {failure}"
                _log.warning("container %s is ended: %s", self.record.name, self._unhealthy)
                process.end(prober.probe.get("terminationGracePeriodSeconds", self._grace_s))

        if startup := prober("startup", self._show_failure):
            await startup.until_success(partial(end_unhealthy, startup))
        _log.info("container %s is up", self.record.name)
        self.record.started = True
        self._changed()
        async with asyncio.TaskGroup() as probes:
            if readiness := prober("readiness", self._show_failure):
                probes.create_task(readiness.run(lambda failure: self._show_ready(not failure)))
            else:
                self._show_ready(True)
            if liveness := prober("liveness"):
                probes.create_task(liveness.run(partial(end_unhealthy, liveness)))

    async def _back_off(self, ran_s: float) -> None:
        """Wait as long as the back-off requires, or until asked to stop."""
        delay_s = self._backoff.after_run(ran_s)
        ended = "terminated" in self.record.state
        if ended:
            self.record.last = self.record.state
            if delay_s:
                self._show(waiting("CrashLoopBackOff", f"back-off {delay_s:g} s before container is started again"))
        waits = [asyncio.create_task(one) for one in (self._sandbox.clock.pause(delay_s), self._stopping.wait())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for one in waits:
            await cancel_and_wait(one)
        if ended and not self._stopping.is_set():
            self.record.restarts += 1

    def _show(self, state: Manifest) -> None:
        self.record.state = state
        self._changed()

    def _show_ready(self, ready: bool) -> None:
        if self.record.ready != ready:
            self.record.ready = ready
            self.record.probe_failure = "" if ready else self.record.probe_failure
            self._changed()

    def _show_failure(self, message: str) -> None:
        if self.record.probe_failure != message:
            self.record.probe_failure = message
            self._changed()
