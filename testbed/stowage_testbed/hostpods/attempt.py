"""One run of a container: from the start of its process to its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from stowage_testbed.base.files import write_whole
from stowage_testbed.hostpods.backoff import BackoffLimits
from stowage_testbed.hostpods.cancelling import cancel_and_wait
from stowage_testbed.hostpods.clock import LoopClock
from stowage_testbed.hostpods.environment import container_environment, expand
from stowage_testbed.hostpods.errors import HostPodsError
from stowage_testbed.hostpods.manifest import Manifest
from stowage_testbed.hostpods.mounts import Mounts
from stowage_testbed.hostpods.probes import Outcome, Probed, Prober
from stowage_testbed.hostpods.process import Command, ContainerProcess, Exit, start_process
from stowage_testbed.hostpods.states import ContainerRecord

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PodSandbox:
    """Where a pod's containers run: its folder, its mounts, and the node around it."""

    folder: Path
    mounts: Mounts
    api_url: str
    clock: LoopClock
    backoff: BackoffLimits


@dataclass(slots=True)
class Attempt:
    """A running process with its probes; made by :func:`start_attempt`.

    It keeps the container's line in the status up to date with the probes' verdicts,
    and calls ``changed`` after each change.
    """

    process: ContainerProcess
    probed: Probed
    clock: LoopClock
    grace_s: float
    record: ContainerRecord
    changed: Callable[[], None]
    unhealthy_reason: str = ""
    _ended: asyncio.Event = field(default_factory=asyncio.Event)
    _ending: asyncio.Task[None] | None = None

    async def run(self) -> Exit:
        """Probe until the process has ended, and return how."""
        probing = asyncio.create_task(self._watch_health())
        ended = await self.process.wait()
        self._ended.set()
        await cancel_and_wait(probing)
        return ended

    def end(self, grace_s: float) -> asyncio.Task[None]:
        """Send SIGTERM, and kill after the grace period; once is enough."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._end_with_grace(grace_s))
        return self._ending

    async def _end_with_grace(self, grace_s: float) -> None:
        self.process.terminate()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await self._ended.wait()
        if not self._ended.is_set():
            self.process.kill()
            await self._ended.wait()

    async def _watch_health(self) -> None:
        """Run the startup probe, then the others side by side."""
        if startup := self._prober("startup", self._show_failure):
            await startup.until_success(lambda seen: self._end_unhealthy(startup, seen))
        _log.info("container %s is up", self.record.name)
        self.record.started = True
        self.changed()
        async with asyncio.TaskGroup() as probes:
            if readiness := self._prober("readiness", self._show_failure):
                probes.create_task(readiness.run(lambda ok, _: self._show_ready(ok)))
            else:
                self._show_ready(True)
            if liveness := self._prober("liveness"):
                probes.create_task(liveness.run(lambda ok, seen: None if ok else self._end_unhealthy(liveness, seen)))

    def _show_ready(self, ready: bool) -> None:
        if self.record.ready != ready:
            self.record.ready = ready
            self.record.probe_failure = "" if ready else self.record.probe_failure
            self.changed()

    def _show_failure(self, message: str) -> None:
        if self.record.probe_failure != message:
            self.record.probe_failure = message
            self.changed()

    def _prober(self, kind: str, on_failure: Callable[[str], None] = lambda _: None) -> Prober | None:
        probe = self.probed.container.get(f"{kind}Probe")
        if probe is None:
            return None
        return Prober(kind, probe, self.probed, self.clock, on_failure)

    def _end_unhealthy(self, prober: Prober, seen: Outcome) -> None:
        """End the process because of what was seen; it is then started again."""
        if self._ending is None:
            self.unhealthy_reason = f"{prober.kind} probe failed: {seen.message}"
            _log.warning("container %s is ended: %s", self.record.name, self.unhealthy_reason)
            self.end(prober.probe.get("terminationGracePeriodSeconds", self.grace_s))


async def start_attempt(
    container: Manifest, sandbox: PodSandbox, grace_s: float, record: ContainerRecord, changed: Callable[[], None]
) -> Attempt:
    """Start a container's command with its mounts, variables and log.

    Raises
    ------
    HostPodsError
        It cannot be started; says why.
    """
    name = container["name"]
    if not container.get("command"):
        raise HostPodsError(
            "ImageHasNoHostCommand",
            f"container {name!r} has no command: host pods run commands of this "
            f"machine, never image {container.get('image', '')!r}; set the container's "
            "command to a local program",
        )
    sandbox.mounts.link(container)
    env = container_environment(container, sandbox.api_url)
    words = [*container["command"], *container.get("args", ())]
    argv = [expand(word, env) for word in words]
    cwd = Path(container.get("workingDir") or sandbox.folder)
    log = sandbox.folder / f"{name}.log"
    process = await start_process(Command(argv, env, cwd), log)
    # Whole at once: others may read it at any moment.
    write_whole(sandbox.folder / f"{name}.pid", f"{process.pid}\n")
    probed = Probed(container, env, cwd)
    return Attempt(process, probed, sandbox.clock, grace_s, record, changed)
