"""Warm children come back whatever kills them."""

import os
import socket
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path

import psutil
import pytest

from stowage_optimizer.search.cache import BACKGROUND_PARTS, VARIABLE
from stowage_optimizer.search.warmup import PARTS
from stowage_optimizer.service.errors import WorkerStartError
from stowage_optimizer.service.settings import WorkerSettings
from stowage_optimizer.service.workers import ChildProcess, Workers
from stowage_testbed.base.wait import HANG_S, wait_until


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (WorkerSettings(strategies="no.such.module:strategies"), "did not get ready"),
        # Compiling takes minutes where no cache helps; an answer never does.
        (WorkerSettings(start_limit_s=60.0, warm_up_limit_s=0.01), r"not warm in 0\.01 s"),
    ],
    ids=["strategies that cannot be loaded", "a bound of its own"],
)
def test_a_failed_warm_up_is_told_at_start(settings: WorkerSettings, said: str) -> None:
    """Not at the first call, hours later."""
    workers = Workers(settings)
    with pytest.raises(WorkerStartError, match=said):
        workers.warm()
    workers.close()


@pytest.mark.thorough
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


def test_no_stranger_is_killed() -> None:
    """The number of a process that has ended may be that of another one by now."""
    ours, theirs = socket.socketpair()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    with theirs, Connection(os.dup(ours.fileno())) as connection:
        child = ChildProcess(os.pidfd_open(ended.pid), connection, ours)
        theirs.send(b"0")
        ended.wait(HANG_S)

        for end in (child.kill, child.close, child.kill):
            end()

    assert child.wait() == 0


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
    wait_until("a fork server to have started", lambda: len(psutil.Process().children()), lambda count: count > before)

    workers.close()

    thread.join(HANG_S)
    assert not thread.is_alive()
    assert len(failures) == 1
