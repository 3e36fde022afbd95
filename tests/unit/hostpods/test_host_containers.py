"""One container's life with real processes, and the probes that watch it."""

import asyncio
import contextlib
import functools
import http.client
import http.server
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from host_builders import JumpingClock, a_container, a_place, a_pod

from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.hostpods.container import ContainerRunner
from stowage_testbed.hostpods.launch import Log
from stowage_testbed.hostpods.node import Backoff, LoopClock, Manifest, cancel_and_wait
from stowage_testbed.hostpods.probes import Prober
from stowage_testbed.hostpods.process import ContainerProcess, run_to_end, start_process
from stowage_testbed.hostpods.status import first_record


def in_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test in an event loop."""

    @functools.wraps(test)
    def run(*args: Any, **fixtures: Any) -> None:
        asyncio.run(test(*args, **fixtures))

    return run


class ContainerHarness:
    """A runner whose every state is noted."""

    def __init__(self, folder: Path, container: Manifest, clock: LoopClock | None = None) -> None:
        self.record = first_record(container, None)
        self.seen: list[Any] = []
        self._changed = asyncio.Event()
        sandbox = a_place(folder, clock)
        self.runner = ContainerRunner(a_pod(container), container, self.record, sandbox, changed=self._note)
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

    async def until_up(self) -> None:
        """Return when the container runs and has said so."""
        await self.until(lambda: "running" in self.record.state)
        while not self.log.exists() or "up" not in self.log.read_text():
            await asyncio.sleep(0)

    def reasons(self) -> list[str]:
        """Return the reasons of all waits seen."""
        return [state["waiting"]["reason"] for state in self.seen if "waiting" in state]


@pytest.mark.parametrize("code", [0, 1])
@in_a_loop
async def test_a_container_that_ends_is_restarted(tmp_path: Path, code: int) -> None:
    """However it ended, later each time, and the log of a crash survives it."""
    container = a_container("sh", "-c", f"echo out; echo err >&2; exit {code}")
    clock = JumpingClock()
    harness = ContainerHarness(tmp_path, container, clock)
    async with harness.running():
        await harness.until(lambda: harness.record.restarts >= 4)
        assert harness.record.last["terminated"]["exitCode"] == code
    assert harness.log.read_text().startswith("out\nerr\n" * 2)
    assert "CrashLoopBackOff" in harness.reasons()
    assert clock.pauses[:4] == [0, 1, 2, 4]


def test_back_off_has_a_ceiling_and_forgets_after_a_good_run() -> None:
    """A crash once a day is not a crash loop."""
    backoff = Backoff(5)

    waits = [backoff.after_run(ran_s) for ran_s in (0, 0, 0, 0, 0, 61, 0)]

    assert waits == [0, 1, 2, 4, 5, 0, 1]


@pytest.mark.parametrize(
    ("container", "reason", "message"),
    [
        ({"name": "main", "image": "nginx"}, "ImageHasNoHostCommand", "never image 'nginx'"),
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
    assert message in harness.seen[0]["waiting"]["message"]


def looking_for(flag: Path, **more: Any) -> dict[str, Any]:
    return {"exec": {"command": ["test", "-e", str(flag)]}, "failureThreshold": 1} | more


@in_a_loop
async def test_readiness_follows_its_probe(tmp_path: Path) -> None:
    """`Ready` has to mean that the probe said so."""
    flag = tmp_path / "ready"
    probe = looking_for(flag, periodSeconds=0.05)

    container = a_container("sleep", "600", readinessProbe=probe)
    harness = ContainerHarness(tmp_path, container)
    async with harness.running():
        await harness.until(lambda: "running" in harness.record.state)
        assert not harness.record.ready
        flag.touch()
        await harness.until(lambda: harness.record.ready)
        flag.unlink()
        await harness.until(lambda: not harness.record.ready)


@in_a_loop
async def test_a_failing_liveness_probe_ends_the_process(tmp_path: Path) -> None:
    """A process that hangs is replaced, with the probe's words as the reason."""
    command = {"command": ["sh", "-c", "echo stuck; exit 1"]}
    probe = {"exec": command, "periodSeconds": 0.01, "failureThreshold": 2}

    container = a_container("sleep", "600", livenessProbe=probe)
    harness = ContainerHarness(tmp_path, container)
    async with harness.running():
        await harness.until(lambda: bool(harness.record.last))
        last = harness.record.last["terminated"]
    assert last["exitCode"] == 143
    assert "liveness probe failed: exit code 1: stuck" in last["message"]


@in_a_loop
async def test_the_startup_probe_holds_the_others_back(tmp_path: Path) -> None:
    """A slow start must not be taken for a hang."""
    flag = tmp_path / "up"
    startup = looking_for(flag, periodSeconds=0.02, failureThreshold=10_000)

    container = a_container("sleep", "600", startupProbe=startup, livenessProbe=looking_for(flag))
    harness = ContainerHarness(tmp_path, container)
    async with harness.running():
        await harness.until(lambda: "running" in harness.record.state)
        assert not harness.record.started
        flag.touch()
        await harness.until(lambda: harness.record.ready)
        assert harness.record.started
        assert harness.record.restarts == 0


@pytest.mark.parametrize(
    ("trap", "grace_s", "code", "said"),
    [
        # A scheduler gives its lease back when it is asked to end.
        ("echo bye; exit 7", 10, 7, "up\nbye\n"),
        # A pod that ignores SIGTERM must still go away.
        ("", 0.1, 128 + signal.SIGKILL, "up\n"),
    ],
    ids=["gentle", "ignored"],
)
@in_a_loop
async def test_stopping_asks_first_and_kills_after_the_grace_period(
    tmp_path: Path, trap: str, grace_s: float, code: int, said: str
) -> None:
    """Each for the reason above it."""
    script = f"trap '{trap}' TERM; echo up; while :; do sleep 0.05; done"

    harness = ContainerHarness(tmp_path, a_container("sh", "-c", script))
    async with harness.running(grace_s):
        await harness.until_up()
    assert harness.record.state["terminated"]["exitCode"] == code
    assert harness.log.read_text() == said


def test_a_restarted_daemon_counts_what_ended_with_the_old_one() -> None:
    """`restartCount` must not jump back to zero."""
    former = {"restartCount": 3, "state": {"running": {}}}
    waiting = {"restartCount": 3, "state": {"waiting": {"reason": "x"}}}

    assert first_record(a_container("true"), former).restarts == 4
    assert first_record(a_container("true"), waiting).restarts == 3


PATH = {"PATH": os.environ["PATH"]}


def lines_of(log: Path, count: int) -> list[str]:
    return wait_until(
        f"{count} lines in {log}",
        lambda: log.read_text().splitlines() if log.exists() else [],
        lambda lines: len(lines) >= count,
    )


def test_a_full_log_is_turned_over(tmp_path: Path) -> None:
    """A release that logs for days must not fill the disk."""
    file = tmp_path / "main.log"
    with contextlib.closing(Log(str(file), 10)) as log:
        for line in (b"first\n", b"second\n", b"third\n"):
            log.write(line)

    assert file.read_bytes() == b"third\n"
    assert (tmp_path / "main.log.1").read_bytes() == b"second\n"


def test_a_cancellation_at_the_very_end_of_a_command_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A liveness probe that forgot it went on for ever: no container came back."""
    wait = ContainerProcess.wait

    async def cancelled_when_done() -> None:
        asking = asyncio.create_task(run_to_end(["true"], PATH, tmp_path, 10))

        async def wait_and_cancel(process: ContainerProcess) -> tuple[int, str]:
            waiting = asyncio.current_task()
            assert waiting is not None
            waiting.add_done_callback(lambda _: asking.cancel())
            return await wait(process)

        monkeypatch.setattr(ContainerProcess, "wait", wait_and_cancel)
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(cancelled_when_done())


def test_the_process_sees_only_the_variables_it_was_given(tmp_path: Path) -> None:
    """The daemon's own environment may hold credentials."""
    end = asyncio.run(run_to_end(["env"], PATH, tmp_path, 10))

    assert end is not None
    assert {line.split("=")[0] for line in end[1].splitlines()} <= {"PATH", "PWD"}


def test_nothing_of_a_container_outlives_its_main_process(tmp_path: Path) -> None:
    """A container's process namespace ends with its first process."""
    log = tmp_path / "main.log"
    # The second one leaves the session too, as daemons do.
    script = "sleep 600 & echo $!; setsid sleep 600 & echo $!; sleep 0.2"

    async def run() -> tuple[int, str]:
        return await (await start_process(["sh", "-c", script], PATH, tmp_path, log)).wait()

    code, _ = asyncio.run(run())

    pids = [int(pid) for pid in log.read_text().split()]
    assert code == 0
    assert len(pids) == 2
    assert not [pid for pid in pids if psutil.pid_exists(pid)]


def test_a_killed_daemon_takes_every_process_along(tmp_path: Path) -> None:
    """An interrupted run must leave no process behind."""
    log = tmp_path / "main.log"
    daemon = (
        "import asyncio, pathlib\n"
        "from stowage_testbed.hostpods.process import start_process\n"
        "async def main():\n"
        f"    here = pathlib.Path({str(tmp_path)!r})\n"
        "    script = 'sleep 600 & echo $!; echo $$; wait'\n"
        f"    process = await start_process(['sh', '-c', script], {PATH!r}, here, here / 'main.log')\n"
        "    await process.wait()\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", daemon]) as process:
        pids = [int(pid) for pid in lines_of(log, 2)]
        assert all(psutil.pid_exists(pid) for pid in pids)

        process.kill()

    wait_until(
        "all of them to be gone", lambda: [pid for pid in pids if psutil.pid_exists(pid)], lambda alive: not alive
    )


def a_prober(folder: Path, kind: str, probe: dict[str, Any], clock: LoopClock | None = None, **more: Any) -> Prober:
    container = {**a_container("true", **more), f"{kind}Probe": probe}
    return Prober(kind, container, PATH, folder, clock or LoopClock())


def failure_of(action: dict[str, Any], folder: Path, **container: Any) -> str:
    return asyncio.run(a_prober(folder, "liveness", {"timeoutSeconds": 2, **action}, **container).ask())


class Answer(http.server.BaseHTTPRequestHandler):
    """Answers with the status that the path names."""

    def do_GET(self) -> None:
        self.send_response(int(self.path.strip("/")))
        self.end_headers()
        self.wfile.write(b"the body")

    def log_message(self, *_: object) -> None:
        """Keep the test's output quiet."""


@contextmanager
def a_server() -> Iterator[int]:
    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("status", "said"), [(200, ""), (399, ""), (400, "400 the body")])
def test_http_counts_from_200_to_399(tmp_path: Path, status: int, said: str) -> None:
    """The message shows what the server said; the chart names its ports once."""
    with a_server() as port:
        ports = [{"name": "web", "containerPort": port}]
        for asked in (port, "web"):
            get = {"path": f"/{status}", "port": asked}
            failure = failure_of({"httpGet": get}, tmp_path, ports=ports)

            assert failure.endswith(said)
            assert bool(failure) is bool(said)


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ({"exec": {"command": ["echo", "because"]}}, ""),
        ({"exec": {"command": ["sh", "-c", "echo because; exit 1"]}}, "exit code 1: because"),
        ({"exec": {"command": ["/no/such"]}}, "/no/such"),
        # One that hangs must not pile up.
        ({"exec": {"command": ["sleep", "600"]}, "timeoutSeconds": 0.1}, "took longer than 0.1 s"),
        ({"httpGet": {"port": "nope"}}, "no port named 'nope'"),
        # Port 1 has nobody, as any while a process starts.
        ({"httpGet": {"port": 1}}, "refused"),
    ],
)
def test_a_failure_shows_what_was_seen(tmp_path: Path, action: dict[str, Any], said: str) -> None:
    """What cannot be asked is a failure with its reason, not the daemon's end."""
    failure = failure_of(action, tmp_path)

    assert said in failure
    assert bool(failure) is bool(said)


def test_verdicts_need_as_many_answers_in_a_row_as_asked(tmp_path: Path) -> None:
    """One slow answer must not take a container out of service."""
    prober = a_prober(tmp_path, "readiness", {"successThreshold": 2})
    answers = [True, True, False, False, True, False, False, False, False, True, True]

    decided = [number for number, answer in enumerate(answers) if prober.decides(ok=answer)]

    assert decided == [1, 7, 8, 10]


def test_a_startup_probe_counts_periods_but_asks_more_often(tmp_path: Path) -> None:
    """A start should not cost a whole second because a period does."""
    clock = JumpingClock()
    count = tmp_path / "count"
    script = f"echo >> {count}; [ $(wc -l < {count}) -ge 25 ]"
    action = {"exec": {"command": ["sh", "-c", script]}, "periodSeconds": 1}
    bad: list[str] = []

    prober = a_prober(tmp_path, "startup", {**action, "failureThreshold": 2}, clock)
    asyncio.run(prober.until_success(bad.append))

    assert len(count.read_text().splitlines()) == 25
    assert len(bad) == 1  # after the second of two whole periods
    assert clock.now() == pytest.approx(2.2, abs=0.2)


def test_a_probe_waits_its_delay_and_its_period(tmp_path: Path) -> None:
    """The API's defaults: every 10 s, three failures."""
    clock = JumpingClock()
    action = {"exec": {"command": ["false"]}, "initialDelaySeconds": 5}
    heard: list[tuple[float, str]] = []

    async def until_heard() -> None:
        prober = a_prober(tmp_path, "liveness", action, clock)
        asking = asyncio.create_task(prober.run(lambda failure: heard.append((clock.now(), failure))))
        while not heard:
            await asyncio.sleep(0)
        await cancel_and_wait(asking)

    asyncio.run(until_heard())

    assert heard[0] == (25.0, "exit code 1: ")
