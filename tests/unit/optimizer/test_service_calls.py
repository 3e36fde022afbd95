"""A call to the service: its socket, its turn, its time and its child."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import cast

import pytest

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.errors import OptimizerError
from stowage_optimizer.service.errors import CallRefusedError
from stowage_optimizer.service.run import Run
from stowage_optimizer.service.server import LONGEST_PATH_BYTES, claim
from stowage_optimizer.service.settings import READ
from stowage_optimizer.service.solving import (
    answer_after_s,
    checking_s,
    grace_s,
    kill_after_s,
    reading_limit_s,
)
from stowage_optimizer.service.turns import Turns
from stowage_optimizer.service.workers import ChildProcess
from stowage_testbed.base.wait import HANG_S


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a relative folder, so that its name is short enough for any socket."""
    monkeypatch.chdir(tmp_path)
    return Path()


def test_the_longest_path_that_the_kernel_takes_is_taken(folder: Path) -> None:
    """One byte more and it is refused by name, not by the kernel's errno.

    Bytes count, not letters.
    """
    claim(folder / ("x" * LONGEST_PATH_BYTES))

    with pytest.raises(OptimizerError, match="108 bytes"):
        claim(folder / ("x" * (LONGEST_PATH_BYTES + 1)))
    with pytest.raises(OptimizerError, match="choose a shorter folder"):
        claim(folder / ("ä" * 60))


def test_a_stale_socket_is_removed(folder: Path) -> None:
    """What a killed service leaves behind."""
    path = folder / "o.sock"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))

    claim(path)

    assert not path.exists()


def test_a_live_socket_is_left_alone(folder: Path) -> None:
    """Two services on one path would steal each other's calls."""
    path = folder / "o.sock"
    with socket.socket(socket.AF_UNIX) as live:
        live.bind(str(path))
        live.listen()

        with pytest.raises(OptimizerError, match="another process serves on"):
            claim(path)

    assert path.exists()


def test_a_file_of_another_kind_is_never_removed(folder: Path) -> None:
    """A typing mistake in --socket must not cost a file."""
    path = folder / "precious.txt"
    path.write_text("data", encoding="utf-8")

    with pytest.raises(OptimizerError, match="is not a socket"):
        claim(path)

    assert path.read_text(encoding="utf-8") == "data"


def test_a_missing_folder_is_named(folder: Path) -> None:
    """The volume was not mounted, most likely."""
    with pytest.raises(OptimizerError, match="nowhere of the socket does not exist"):
        claim(folder / "nowhere" / "o.sock")


STAYS = threading.Event()


@pytest.mark.parametrize(
    ("queue", "patience_s", "why"),
    [(0, 10, "calls wait already"), (1, 0.01, r"0\.01 s")],
    ids=["the queue is full", "the call's own limit is over"],
)
def test_who_cannot_wait_is_refused(queue: int, patience_s: float, why: str) -> None:
    """Memory and patience are bounded (R21).

    A free turn is taken at once, even where no call may wait.
    """
    turns = Turns(queue)
    turns.take(0, STAYS)

    with pytest.raises(CallRefusedError, match=why):
        turns.take(patience_s, STAYS)


def test_a_turn_given_back_goes_to_the_next() -> None:
    """And to one of them only."""
    turns = Turns(1)
    turns.take(0, STAYS)
    waiting = threading.Thread(target=turns.take, args=(10, STAYS))
    waiting.start()

    turns.give_back()
    waiting.join(HANG_S)

    assert not waiting.is_alive()
    with pytest.raises(CallRefusedError, match="still running"):
        turns.take(0.01, STAYS)


def test_who_leaves_the_queue_makes_room() -> None:
    """A client that went away must not hold a place."""
    turns = Turns(1)
    turns.take(0, STAYS)
    left = threading.Event()
    ends: list[str] = []

    def wait() -> None:
        try:
            turns.take(10, left)
        except CallRefusedError as error:
            ends.append(error.status)

    waiting = threading.Thread(target=wait)
    waiting.start()
    left.set()
    turns.wake()
    waiting.join(HANG_S)

    assert ends == ["CANCELLED"]
    with pytest.raises(CallRefusedError, match="still running"):
        turns.take(0.01, STAYS)


SMALL, LARGE, LARGEST = 40_000, 8_000_000, 64 * 1024**2
"""Bytes of 256 pods, of 50,000, and of the largest request."""

CONTRACT = (
    Path(__file__).parents[3]
    / "optimizer"
    / "stowage_optimizer"
    / "contract"
    / "optimizer.proto"
)


@pytest.mark.parametrize("size", [0, SMALL, LARGE, LARGEST])
def test_a_caller_is_answered_when_the_contract_says(size: int) -> None:
    """The scheduler waits by that formula; it has no other way to know."""
    formula = re.search(
        r"time_limit_s \+ ([\d.]+) \+ ([\d.e-]+) \* B", CONTRACT.read_text()
    )
    assert formula is not None

    assert grace_s(size) == pytest.approx(float(formula[1]) + size * float(formula[2]))


def test_nothing_is_endless_and_everything_grows_with_the_request() -> None:
    """A child that hangs while it reads must not hold a turn for ever (R4)."""
    for limit in (reading_limit_s, kill_after_s, answer_after_s, checking_s):
        assert limit(SMALL) < limit(LARGE) < limit(LARGEST)
    assert reading_limit_s(LARGEST) < 60
    assert grace_s(SMALL) < 2


def test_large_snapshots_leave_time_for_the_checker() -> None:
    """Else the last plan of 50,000 pods would always come too late to be checked."""
    assert answer_after_s(LARGE) > 2 * checking_s(LARGE)


LONG_S = 60.0
"""No test gets there: what it waits for happens before, or it hangs and fails."""

SHORT_S = 0.2
LARGE_REQUEST = b"\0" * 8_000_000
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


def hangs(connection: Connection) -> None:
    read(connection)
    connection.recv_bytes()


def never_reads(_connection: Connection) -> None:
    threading.Event().wait(LONG_S)


@pytest.mark.parametrize(
    ("script", "request_bytes"), [(hangs, b"request"), (never_reads, LARGE_REQUEST)]
)
def test_a_child_that_does_not_read_its_request_is_killed_in_time(
    script: Callable[[Connection], None], request_bytes: bytes
) -> None:
    """It holds the turn, and its caller waits (R4).

    Sending a large request to one that takes none would never end.
    """
    with running(script, reading_limit_s=SHORT_S, request=request_bytes) as (
        run,
        child,
    ):
        (last,) = run.updates()

    assert run.killed
    assert last.end_reason == pb.END_REASON_TIME_LIMIT
    assert "was not read within 0.20 s" in last.message
    assert child.killed_at is not None


def test_a_child_cannot_put_off_its_end() -> None:
    """Nothing of it is trusted: that it has read counts once."""

    def reads_again_and_again(connection: Connection) -> None:
        read(connection)
        while True:
            connection.send_bytes(READ)

    with running(reads_again_and_again, time_limit_s=SHORT_S) as (run, child):
        (last,) = run.updates()

    assert last.end_reason == pb.END_REASON_TIME_LIMIT
    assert child.killed_at is not None


def test_whoever_asks_late_hears_at_once_that_the_request_has_been_read() -> None:
    """The checker begins after the run, and must know when it has to be done."""
    heard, noted = threading.Event(), threading.Event()

    def reads(connection: Connection) -> None:
        read(connection)
        assert noted.wait(LONG_S)
        connection.send_bytes(READ)
        connection.recv_bytes()

    with running(reads) as (run, _):
        latest = run.ends_by
        noted.set()
        first = threading.Event()
        run.on_read(first.set)
        assert first.wait(LONG_S)
        run.on_read(heard.set)

        assert heard.is_set()
        assert run.ends_by < latest
