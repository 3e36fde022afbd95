"""One run of a container: from the start of its process to its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from stowage_testbed.hostpods.clock import LoopClock
from stowage_testbed.hostpods.environment import container_environment
from stowage_testbed.hostpods.errors import NoHostCommandError
from stowage_testbed.hostpods.expansion import expand
from stowage_testbed.hostpods.hooks import run_hook
from stowage_testbed.hostpods.manifest import Manifest
from stowage_testbed.hostpods.probes.action import ActionContext
from stowage_testbed.hostpods.probes.outcome import Outcome
from stowage_testbed.hostpods.probes.prober import Prober
from stowage_testbed.hostpods.process import (
    Command,
    ContainerProcess,
    Exit,
    start_process,
)
from stowage_testbed.hostpods.sandbox import PodSandbox

_log = logging.getLogger(__name__)


class HealthListener(Protocol):
    """Hears how the container is."""

    def on_started(self) -> None:
        """Take note that the startup probe succeeded, or that there is none."""
        ...

    def on_ready(self, *, ready: bool) -> None:
        """Take note of the readiness probe's verdict."""
        ...

    def on_probe_failure(self, message: str) -> None:
        """Take note of why the container is not ready yet, or no longer."""
        ...


@dataclass(slots=True)
class Attempt:
    """A running process with its probes; made by :func:`start_attempt`."""

    process: ContainerProcess
    context: ActionContext
    clock: LoopClock
    grace_s: float
    unhealthy_reason: str = ""
    _ended: asyncio.Event = field(default_factory=asyncio.Event)
    _ending: asyncio.Task[None] | None = None

    async def run(self, listener: HealthListener) -> Exit:
        """Return when the process has ended; the listener receives its health."""
        probing = asyncio.create_task(self._watch_health(listener))
        ended = await self.process.wait()
        self._ended.set()
        probing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await probing
        return ended

    async def terminate(self, grace_s: float) -> None:
        """Run the ``preStop`` hook, send SIGTERM, and kill after the grace period."""
        await self._end(grace_s)

    def _end(self, grace_s: float) -> asyncio.Task[None]:
        if self._ending is None:
            self._ending = asyncio.create_task(self._end_with_grace(grace_s))
        return self._ending

    async def _end_with_grace(self, grace_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await run_hook("preStop", self.context, self.clock, grace_s)
                self.process.terminate()
                await self._ended.wait()
        if not self._ended.is_set():
            self.process.kill()
            await self._ended.wait()

    async def _watch_health(self, listener: HealthListener) -> None:
        """Run the start hook and the startup probe, then the others side by side."""
        hook = await run_hook("postStart", self.context, self.clock, self.grace_s)
        if not hook.ok:
            self._end_unhealthy("postStart hook", {}, hook)
            return
        if startup := self._prober("startup", listener.on_probe_failure):
            await startup.until_success(
                lambda seen: self._end_unhealthy("startup probe", startup.probe, seen)
            )
        listener.on_started()
        async with asyncio.TaskGroup() as probes:
            if readiness := self._prober("readiness", listener.on_probe_failure):
                probes.create_task(
                    readiness.run(lambda ok, _: listener.on_ready(ready=ok))
                )
            else:
                listener.on_ready(ready=True)
            if liveness := self._prober("liveness"):
                probes.create_task(
                    liveness.run(
                        lambda ok, seen: (
                            None
                            if ok
                            else self._end_unhealthy(
                                "liveness probe", liveness.probe, seen
                            )
                        )
                    )
                )

    def _prober(
        self, kind: str, on_failure: Callable[[str], None] = lambda _: None
    ) -> Prober | None:
        probe = self.context.container.get(f"{kind}Probe")
        if probe is None:
            return None
        return Prober(kind, probe, self.context, self.clock, on_failure)

    def _end_unhealthy(self, what: str, probe: Manifest, seen: Outcome) -> None:
        """End the process because of what was seen; its restart policy goes on."""
        if self._ending is None:
            name = self.context.container["name"]
            self.unhealthy_reason = f"{what} failed: {seen.message}"
            _log.warning("container %s is ended: %s", name, self.unhealthy_reason)
            self._end(probe.get("terminationGracePeriodSeconds", self.grace_s))


async def start_attempt(
    pod: Manifest, container: Manifest, sandbox: PodSandbox, grace_s: float
) -> Attempt:
    """Start a container's command with its mounts, variables and log.

    Raises
    ------
    ContainerCannotStartError
        Why not, by subclass.
    """
    if not container.get("command"):
        raise NoHostCommandError(container["name"], container.get("image", ""))
    sandbox.mounts.link(container)
    env = await container_environment(pod, container, sandbox.node)
    words = [*container["command"], *container.get("args", ())]
    argv = [expand(word, env) for word in words]
    cwd = Path(container.get("workingDir") or sandbox.folder)
    log = sandbox.folder / f"{container['name']}.log"
    process = await start_process(Command(argv, env, cwd), log)
    pid_file = sandbox.folder / f"{container['name']}.pid"
    # Whole at once: others may read it at any moment.
    draft = pid_file.with_suffix(".pid.new")
    draft.write_text(f"{process.pid}\n", "ascii")
    draft.replace(pid_file)
    return Attempt(process, ActionContext(container, env, cwd), sandbox.clock, grace_s)
