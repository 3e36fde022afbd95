"""A child has time to read, and from then on its limit; it is killed beyond either."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import cast

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.service.run import Run
from stowage_optimizer.service.settings import READ
from stowage_optimizer.service.workers import ChildProcess

LONG_S = 60.0
"""No test gets there: what it waits for happens before, or it hangs and fails."""

SHORT_S = 0.2
LARGE = b"\0" * 8_000_000
"""More than a socket holds: sending it blocks until it is read."""

PLAN = pb.SolveUpdate(plan=pb.Plan(snapshot_id="s"))


class ScriptedChild:
    """Plays a child in a thread; once killed it reads and sends nothing."""

    def __init__(self, script: Callable[[Connection], None]) -> None:
        self.connection, self._theirs = Pipe()
        self.killed_at: float | None = None
        self._script = script
        self._thread = threading.Thread(target=self._play, daemon=True)
        self._thread.start()

    def _play(self) -> None:
        with suppress(OSError, EOFError):
            self._script(self._theirs)

    def kill(self) -> None:
        if self.killed_at is None:
            self.killed_at = time.monotonic()
            self._theirs.close()

    def wait(self) -> int:
        return -9

    def close(self) -> None:
        self.kill()
        self.connection.close()


@contextmanager
def running(
    script: Callable[[Connection], None],
    *,
    reading_limit_s: float = LONG_S,
    time_limit_s: float = LONG_S,
    request: bytes = b"request",
) -> Iterator[tuple[Run, ScriptedChild]]:
    child = ScriptedChild(script)
    run = Run(
        cast("ChildProcess", child),
        request,
        reading_limit_s=reading_limit_s,
        time_limit_s=time_limit_s,
        kill_after_s=0.0,
        on_end=lambda: None,
        prepare=lambda: None,
    )
    try:
        yield run, child
    finally:
        run.cancel()


def read(connection: Connection) -> None:
    """Read the request as a child does, without a word."""
    connection.recv_bytes()
    connection.recv_bytes()


def test_the_time_limit_begins_when_the_snapshot_has_been_read() -> None:
    """Of 50,000 pods nothing was left of a second when the solver began."""
    go_on = threading.Event()

    def reads_slowly(connection: Connection) -> None:
        read(connection)
        go_on.wait(LONG_S)
        connection.send_bytes(READ)
        connection.send_bytes(PLAN.SerializeToString())
        connection.recv_bytes()

    called = time.monotonic()
    with running(reads_slowly, time_limit_s=SHORT_S) as (run, child):
        until = time.monotonic() + 2 * SHORT_S
        while time.monotonic() < until:
            assert not run.over
        go_on.set()
        *_, last = run.updates()

    assert last.plan == PLAN.plan
    assert last.end_reason == pb.END_REASON_TIME_LIMIT
    assert child.killed_at is not None
    assert child.killed_at - called > run.read_s + SHORT_S
    assert run.read_s > 2 * SHORT_S


def test_a_child_that_hangs_while_it_reads_is_killed_in_time() -> None:
    """It holds the turn, and its caller waits (R4)."""

    def hangs(connection: Connection) -> None:
        read(connection)
        connection.recv_bytes()

    with running(hangs, reading_limit_s=SHORT_S) as (run, child):
        (last,) = run.updates()

    assert run.killed
    assert last.end_reason == pb.END_REASON_TIME_LIMIT
    assert "was not read within 0.20 s" in last.message
    assert child.killed_at is not None


def test_a_child_that_takes_no_request_is_killed_in_time() -> None:
    """Sending a large one to it would never end, and no limit would be looked at."""

    def never_reads(_connection: Connection) -> None:
        threading.Event().wait(LONG_S)

    with running(never_reads, reading_limit_s=SHORT_S, request=LARGE) as (run, _):
        (last,) = run.updates()

    assert run.killed
    assert last.end_reason == pb.END_REASON_TIME_LIMIT
    assert "was not read" in last.message


def test_a_child_cannot_put_off_its_end() -> None:
    """Nothing of it is trusted: that it has read counts once."""

    def reads_again_and_again(connection: Connection) -> None:
        read(connection)
        while True:
            connection.send_bytes(READ)

    with running(reads_again_and_again, time_limit_s=SHORT_S) as (run, child):
        began = time.monotonic()
        (last,) = run.updates()

    assert last.end_reason == pb.END_REASON_TIME_LIMIT
    assert child.killed_at is not None
    assert child.killed_at - began < LONG_S / 2


def test_whoever_asks_late_hears_at_once_that_the_request_has_been_read() -> None:
    """The checker begins after the run, and must know when it has to be done."""
    heard = threading.Event()

    def reads(connection: Connection) -> None:
        read(connection)
        connection.send_bytes(READ)
        connection.recv_bytes()

    with running(reads) as (run, _):
        latest = run.ends_by
        first = threading.Event()
        run.on_read(first.set)
        assert first.wait(LONG_S)
        run.on_read(heard.set)

        assert heard.is_set()
        assert run.ends_by < latest
