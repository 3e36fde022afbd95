"""One container's life, with real processes."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from host_builders import JumpingClock, a_container, a_place, a_pod

from stowage_testbed.base.wait import HANG_S
from stowage_testbed.hostpods.backoff import Backoff, BackoffLimits
from stowage_testbed.hostpods.clock import LoopClock
from stowage_testbed.hostpods.container import ContainerRunner
from stowage_testbed.hostpods.manifest import Manifest
from stowage_testbed.hostpods.states import Running, Terminated, Waiting, first_record


def in_a_loop(
    test: Callable[..., Coroutine[Any, Any, None]],
) -> Callable[..., None]:
    """Run a test in an event loop."""

    @functools.wraps(test)
    def run(*args: Any, **fixtures: Any) -> None:
        asyncio.run(test(*args, **fixtures))

    return run


class ContainerHarness:
    """A runner whose every state is noted."""

    def __init__(
        self, folder: Path, container: Manifest, clock: LoopClock | None = None
    ) -> None:
        self.record = first_record(container, None)
        self.seen: list[Any] = []
        self._changed = asyncio.Event()
        sandbox = a_place(folder, clock)
        self.runner = ContainerRunner(
            a_pod(container), container, self.record, sandbox, changed=self._note
        )
        self.log = sandbox.folder / "main.log"

    @asynccontextmanager
    async def running(self, grace_s: float = 1) -> AsyncIterator[None]:
        """Run the container for the block, and stop it after."""
        running = asyncio.create_task(self.runner.run())
        yield
        await self.runner.stop(grace_s)
        await running

    def _note(self) -> None:
        if not self.seen or self.seen[-1] != self.record.state:
            self.seen.append(self.record.state)
        self._changed.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Return when a change makes the condition hold."""
        async with asyncio.timeout(HANG_S):
            while not holds():
                await self._changed.wait()
                self._changed.clear()

    def reasons(self) -> list[str]:
        """Return the reasons of all waits seen."""
        return [state.reason for state in self.seen if isinstance(state, Waiting)]


@pytest.mark.parametrize("code", [0, 1])
@in_a_loop
async def test_a_container_that_ends_is_started_again(
    tmp_path: Path, code: int
) -> None:
    """A service comes back, however it ended."""
    container = a_container("sh", "-c", f"exit {code}")
    harness = ContainerHarness(tmp_path, container, JumpingClock())
    async with harness.running():
        await harness.until(lambda: harness.record.restarts >= 2)
        assert harness.record.last is not None
        assert harness.record.last.code == code


@in_a_loop
async def test_a_crashing_container_waits_longer_each_time(tmp_path: Path) -> None:
    """A broken release must not eat the machine."""
    clock = JumpingClock()

    harness = ContainerHarness(tmp_path, a_container("false"), clock)
    async with harness.running():
        await harness.until(lambda: harness.record.restarts >= 5)
    assert "CrashLoopBackOff" in harness.reasons()

    assert clock.pauses[:5] == [0, 1, 2, 4, 8]


def test_back_off_has_a_ceiling_and_forgets_after_a_good_run() -> None:
    """A crash once a day is not a crash loop."""
    backoff = Backoff(BackoffLimits(1, 5, 60))

    waits = [backoff.after_run(ran_s) for ran_s in (0, 0, 0, 0, 0, 61, 0)]

    assert waits == [0, 1, 2, 4, 5, 0, 1]


@pytest.mark.parametrize(
    ("container", "reason", "message"),
    [
        (
            {"name": "main", "image": "nginx"},
            "ImageHasNoHostCommand",
            "never image 'nginx'",
        ),
        (a_container("/no/such"), "CreateContainerError", "cannot start '/no/such'"),
        (
            a_container("true", volumeMounts=[{"name": "v", "mountPath": "/etc"}]),
            "MountRefused",
            "mount path /etc does not lie under",
        ),
    ],
)
@in_a_loop
async def test_what_cannot_start_waits_with_a_reason(
    tmp_path: Path, container: Manifest, reason: str, message: str
) -> None:
    """The reason is what `helm --wait` failures are explained by."""
    harness = ContainerHarness(tmp_path, container)
    async with harness.running():
        await harness.until(lambda: bool(harness.seen))
    assert harness.reasons()[0] == reason
    assert message in harness.seen[0].message


@in_a_loop
async def test_readiness_follows_its_probe_and_ends_with_the_process(
    tmp_path: Path,
) -> None:
    """`Ready` has to mean that the probe said so."""
    flag = tmp_path / "ready"
    probe = {"exec": {"command": ["test", "-e", str(flag)]}, "periodSeconds": 0.05}
    probe["failureThreshold"] = 1

    container = a_container("sleep", "600", readinessProbe=probe)
    harness = ContainerHarness(tmp_path, container)
    async with harness.running():
        await harness.until(lambda: isinstance(harness.record.state, Running))
        assert not harness.record.ready
        flag.touch()
        await harness.until(lambda: harness.record.ready)
        flag.unlink()
        await harness.until(lambda: not harness.record.ready)


@in_a_loop
async def test_a_failing_liveness_probe_ends_the_process(tmp_path: Path) -> None:
    """A process that hangs is replaced, with the probe's words as the reason."""
    probe = {
        "exec": {"command": ["sh", "-c", "echo stuck; exit 1"]},
        "periodSeconds": 0.01,
        "failureThreshold": 2,
    }

    harness = ContainerHarness(
        tmp_path, a_container("sleep", "600", livenessProbe=probe)
    )
    async with harness.running():
        await harness.until(lambda: harness.record.last is not None)
        last = harness.record.last
    assert last is not None
    assert last.code == 143
    assert "liveness probe failed: exit code 1: stuck" in last.message


@in_a_loop
async def test_the_startup_probe_holds_the_others_back(tmp_path: Path) -> None:
    """A slow start must not be taken for a hang."""
    flag = tmp_path / "up"
    startup = {"exec": {"command": ["test", "-e", str(flag)]}, "periodSeconds": 0.02}
    startup["failureThreshold"] = 10_000
    liveness = {"exec": {"command": ["test", "-e", str(flag)]}, "failureThreshold": 1}

    container = a_container(
        "sleep", "600", startupProbe=startup, livenessProbe=liveness
    )
    harness = ContainerHarness(tmp_path, container)
    async with harness.running():
        await harness.until(lambda: isinstance(harness.record.state, Running))
        assert not harness.record.started
        flag.touch()
        await harness.until(lambda: harness.record.ready)
        assert harness.record.started
        assert harness.record.restarts == 0


@in_a_loop
async def test_stopping_is_gentle_first(tmp_path: Path) -> None:
    """A scheduler gives its lease back when it is asked to end."""
    script = "trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.05; done"

    harness = ContainerHarness(tmp_path, a_container("sh", "-c", script))
    async with harness.running(grace_s=10):
        await harness.until(lambda: isinstance(harness.record.state, Running))
        while not harness.log.exists() or "up" not in harness.log.read_text():
            await asyncio.sleep(0)
    assert isinstance(harness.record.state, Terminated)
    assert harness.record.state.code == 7
    assert harness.log.read_text() == "up\nbye\n"


@in_a_loop
async def test_stopping_kills_after_the_grace_period(tmp_path: Path) -> None:
    """A pod that ignores SIGTERM must still go away."""
    script = "trap '' TERM; while :; do sleep 0.05; done"

    harness = ContainerHarness(tmp_path, a_container("sh", "-c", script))
    async with harness.running(grace_s=0.1):
        await harness.until(lambda: isinstance(harness.record.state, Running))
    assert isinstance(harness.record.state, Terminated)
    assert harness.record.state.code in (137, 143)  # the trap may not be set yet


def test_a_restarted_daemon_counts_what_ended_with_the_old_one() -> None:
    """`restartCount` must not jump back to zero."""
    former = {"restartCount": 3, "state": {"running": {}}}
    waiting = {"restartCount": 3, "state": {"waiting": {"reason": "x"}}}

    assert first_record(a_container("true"), former).restarts == 4
    assert first_record(a_container("true"), waiting).restarts == 3
