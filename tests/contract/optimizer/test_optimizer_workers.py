"""Warm children come back whatever kills them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import psutil
import pytest

from stowage_optimizer.search.cache import BACKGROUND_PARTS, VARIABLE
from stowage_optimizer.search.warmup import PARTS
from stowage_optimizer.service.errors import WorkerStartError
from stowage_optimizer.service.settings import WorkerSettings
from stowage_optimizer.service.workers import ChildProcess, ForkServer, Workers
from stowage_testbed.base.wait import HANG_S, wait_until


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    workers = Workers(WorkerSettings())
    workers.warm()
    yield workers
    workers.close()


def wait_for_end(pid: int) -> None:
    wait_until(
        f"process {pid} to have ended",
        lambda: (
            psutil.Process(pid).status() if psutil.pid_exists(pid) else "no process"
        ),
        lambda status: status in (psutil.STATUS_ZOMBIE, "no process"),
        timeout_s=HANG_S,
    )


@pytest.mark.parametrize("ready", [True, False])
def test_a_spare_child_that_died_is_replaced(workers: Workers, *, ready: bool) -> None:
    """The kernel's memory killer may take it, also before its first word."""
    workers.take().close()
    spare = workers.prepare()
    assert spare is not None
    if ready:
        workers.warm()
    spare.kill()
    wait_for_end(spare.pid)

    # Every call gets a child of its own: nothing of one solve reaches the next.
    children = [workers.take(), workers.take()]

    assert len({spare.pid, *(child.pid for child in children)}) == 3
    for child in children:
        child.close()


def fork_server_of(workers: Workers) -> psutil.Process:
    spare = workers.prepare()
    assert spare is not None
    parent = psutil.Process(spare.pid).parent()
    assert parent is not None
    return parent


def test_a_fork_server_that_was_killed_is_replaced(workers: Workers) -> None:
    """The service heals itself, without a restart of the pod."""
    fork_server = fork_server_of(workers)
    fork_server.kill()
    wait_for_end(fork_server.pid)
    child = workers.take()
    assert psutil.pid_exists(child.pid)
    child.close()


def test_a_child_of_a_killed_fork_server_is_reported_at_once(workers: Workers) -> None:
    """Its end must not wait for a start, or be asked of another fork server."""
    child = workers.take()
    first = psutil.Process(child.pid).parent()
    assert first is not None
    first.kill()
    wait_for_end(first.pid)
    workers.take().close()
    second = fork_server_of(workers)

    assert child.wait() == -signal.SIGKILL

    child.close()
    another = workers.take()
    assert psutil.Process(another.pid).ppid() == second.pid
    another.close()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (WorkerSettings(strategies="no.such.module:strategies"), "did not get ready"),
        # Compiling takes minutes where no cache helps; an answer never does.
        (
            WorkerSettings(start_limit_s=60.0, warm_up_limit_s=0.01),
            r"not warm in 0\.01 s",
        ),
    ],
    ids=["strategies that cannot be loaded", "a bound of its own"],
)
def test_a_failed_warm_up_is_told_at_start(settings: WorkerSettings, said: str) -> None:
    """Not at the first call, hours later."""
    workers = Workers(settings)
    with pytest.raises(WorkerStartError, match=said):
        workers.warm()
    workers.close()


def test_a_start_without_compiled_code_gets_ready_and_later_ones_load_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`compile` need not run before the first start, and nothing is compiled twice."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    # A part that the fork server does not know would be left out unseen.
    assert set(BACKGROUND_PARTS) < set(PARTS)

    written = []
    for _ in range(2):
        workers = Workers(WorkerSettings())
        try:
            workers.warm()
        finally:
            workers.close()
        compiled = tmp_path.rglob("*.nb?")
        written.append({str(file): file.stat().st_mtime_ns for file in compiled})

    assert any("explore" in file for file in written[0])
    assert written[0] == written[1]


class LateForkServer:
    """A fork server that answers ``wait`` only once nobody waits for it any more."""

    def __init__(self) -> None:
        ours, self._control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.child = subprocess.Popen(["sleep", "60"])
        # The parent of the child is this process.
        itself = SimpleNamespace(pid=os.getpid(), poll=lambda: None)
        process = cast("subprocess.Popen[bytes]", itself)
        self.server = ForkServer(process, ours, reply_limit_s=0.2)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        late: list[bytes] = []
        while packet := self._control.recv(1024):
            number, verb, *_ = packet.decode().split(" ")
            if verb == "wait":
                late.append(f"{number} 0".encode())
                continue
            for answer in late:
                self._control.send(answer)
            self._control.send(f"{number} {self.child.pid}".encode())

    def close(self) -> None:
        self.server.interrupt()
        self._thread.join(HANG_S)
        self._control.close()
        self.server.control.close()
        self.child.kill()
        self.child.wait()


@pytest.fixture
def late() -> Iterator[LateForkServer]:
    late = LateForkServer()
    yield late
    late.close()


def test_a_late_answer_is_not_taken_for_another(late: LateForkServer) -> None:
    """An exit code taken for a process id: the service would kill its own group."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert late.server.exit_code(12345) == -signal.SIGKILL
        assert late.server.fork(theirs.fileno()) == late.child.pid


@pytest.mark.parametrize("pid", [0, -9, 1, "parent"])
def test_no_stranger_is_killed(pid: int | str, monkeypatch: pytest.MonkeyPatch) -> None:
    """0 and negative numbers are whole groups; a reused number is a stranger's."""
    signalled: list[int] = []
    monkeypatch.setattr(os, "kill", lambda target, _: signalled.append(target))
    target = os.getppid() if isinstance(pid, str) else pid
    with Connection(os.open(os.devnull, os.O_RDWR)) as connection:
        child = ChildProcess(target, os.getpid(), connection, lambda _: 0)
        child.kill()
    assert signalled == []


def test_a_service_that_stops_does_not_wait_for_a_warm_up() -> None:
    """The pod's grace period is far shorter than a cold warm-up."""
    workers = Workers(WorkerSettings())
    failures: list[WorkerStartError] = []

    def warm() -> None:
        try:
            workers.warm()
        except WorkerStartError as error:
            failures.append(error)

    before = len(psutil.Process().children())
    thread = threading.Thread(target=warm)
    thread.start()
    wait_until(
        "a fork server to have started",
        lambda: len(psutil.Process().children()),
        lambda count: count > before,
        timeout_s=HANG_S,
    )

    workers.close()

    thread.join(HANG_S)
    assert not thread.is_alive()
    assert len(failures) == 1
