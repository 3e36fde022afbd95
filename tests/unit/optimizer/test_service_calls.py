"""A call to the service: its socket, turn, time and child, and what it is told on the way."""

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing import Pipe
from pathlib import Path
from queue import SimpleQueue
from typing import cast

import pytest
from made_packings import Item, packing_of

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.errors import OptimizerError
from stowage_optimizer.model.pods import Pods
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.model.solution import Solution, TierResult
from stowage_optimizer.service.call_handler import answer_after_s, checking_s, grace_s, kill_after_s, reading_limit_s
from stowage_optimizer.service.call_queue import CallQueue
from stowage_optimizer.service.child import UpdateWriter
from stowage_optimizer.service.child_run import ChildRun
from stowage_optimizer.service.errors import CallRefusedError
from stowage_optimizer.service.outbox import Outbox
from stowage_optimizer.service.plan_checks import CheckedRun, PlanCheck
from stowage_optimizer.service.server import LONGEST_PATH_BYTES, claim
from stowage_optimizer.service.settings import READ
from stowage_optimizer.service.updates import last_update
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

    for name, size in (("x" * (LONGEST_PATH_BYTES + 1), 108), ("ä" * 60, 120)):
        with pytest.raises(OptimizerError, match=f"{size} bytes.*shorter folder"):
            claim(folder / name)


@pytest.mark.parametrize("live", [False, True])
def test_a_stale_socket_is_removed_and_a_live_one_left_alone(folder: Path, live: bool) -> None:
    """A killed service leaves one behind; two would steal each other's calls."""
    path = folder / "o.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        if live:
            other.listen()
            with pytest.raises(OptimizerError, match="another process serves on"):
                claim(path)
        else:
            claim(path)

    assert path.exists() is live


def test_a_file_of_another_kind_is_never_removed(folder: Path) -> None:
    """A typing mistake in --socket must cost no file; a missing folder is named."""
    path = folder / "precious.txt"
    path.write_text("data", encoding="utf-8")

    with pytest.raises(OptimizerError, match="is not a socket"):
        claim(path)
    with pytest.raises(OptimizerError, match="nowhere of the socket does not exist"):
        claim(folder / "nowhere" / "o.sock")

    assert path.read_text(encoding="utf-8") == "data"


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
    turns = CallQueue(queue)
    turns.take(0, STAYS)

    with pytest.raises(CallRefusedError, match=why):
        turns.take(patience_s, STAYS)


@pytest.mark.parametrize("leaves", [False, True])
def test_a_turn_goes_to_the_next_who_has_not_left(leaves: bool) -> None:
    """And to one of them only; a client that went away must not hold a place."""
    turns, left, ends = CallQueue(1), threading.Event(), list[str]()
    turns.take(0, STAYS)

    def wait() -> None:
        try:
            turns.take(10, left)
        except CallRefusedError as error:
            ends.append(error.status)

    waiting = threading.Thread(target=wait)
    waiting.start()
    if leaves:
        left.set()
        turns.wake()
    else:
        turns.give_back()
    waiting.join(HANG_S)

    assert ends == ["CANCELLED"] * leaves
    with pytest.raises(CallRefusedError, match="still running"):
        turns.take(0.01, STAYS)


SMALL, LARGE, LARGEST = 40_000, 8_000_000, 64 * 1024**2
"""Bytes of 256 pods, of 50,000, and of the largest request."""

CONTRACT = Path(pb.__file__).with_name("optimizer.proto")


@pytest.mark.parametrize("size", [0, SMALL, LARGE, LARGEST])
def test_a_caller_is_answered_when_the_contract_says(size: int) -> None:
    """The scheduler waits by that formula; it has no other way to know."""
    formula = re.search(r"time_limit_s \+ ([\d.]+) \+ ([\d.e-]+) \* B", CONTRACT.read_text())
    assert formula is not None

    assert grace_s(size) == pytest.approx(float(formula[1]) + size * float(formula[2]))


def test_nothing_is_endless_and_everything_grows_with_the_request() -> None:
    """A child that hangs while it reads must not hold a turn for ever (R4).

    The last plan of 50,000 pods must leave time for the checker.
    """
    for limit in (reading_limit_s, kill_after_s, answer_after_s, checking_s):
        assert limit(SMALL) < limit(LARGE) < limit(LARGEST)
    assert reading_limit_s(LARGEST) < 60
    assert grace_s(SMALL) < 2
    assert answer_after_s(LARGE) > 2 * checking_s(LARGE)


LONG_S = 60.0
"""No test gets there: what it waits for happens before, or it hangs and fails."""


class FakeRun:
    """Yields scripted updates, and notes how it was ended."""

    def __init__(self) -> None:
        self.ends_by = time.monotonic()
        self.said: SimpleQueue[pb.SolveUpdate] = SimpleQueue()
        self.over = self.cancelled = self.given_up = False

    def on_read(self, _callback: Callable[[], None]) -> None:
        pass

    def says(self, name: str = "", **fields: object) -> None:
        """Have an update with a plan for the pod ``name``, if it is named."""
        update = pb.SolveUpdate(**fields)  # type: ignore[arg-type] # any field
        if name:
            update.plan.CopyFrom(a_plan(name))
        self.said.put(update)

    def updates(self) -> Iterator[pb.SolveUpdate]:
        while True:
            update = self.said.get()
            yield update
            if update.last:
                return

    def cancel(self) -> None:
        self.over = self.cancelled = True
        self.says(end_reason=pb.END_REASON_CANCELLED, last=True)

    def give_up(self) -> None:
        self.given_up = True
        self.cancel()


class FakeCheck:
    """Checks last plans for ever, until it must stop; or all once it may go on."""

    withhold = False

    def __init__(self) -> None:
        self.asked, self.go_on = threading.Semaphore(0), threading.Event()
        self.stopped = threading.Event()
        self.slow = False

    def get_ready(self) -> None:
        pass

    def check(self, update: pb.SolveUpdate, stop: Callable[[], bool]) -> pb.SolveUpdate | None:
        if self.withhold:
            return last_update(pb.END_REASON_ERROR, "it is wrong")
        if self.slow:
            self.asked.release()
            self.go_on.wait(LONG_S)
            return None if stop() else update
        if not update.last:
            return update
        while not stop():
            pass
        self.stopped.set()
        return None


def a_plan(name: str) -> pb.Plan:
    return pb.Plan(placements=[pb.Placement(pod_uid=name, node="n")])


def checked_run(run: FakeRun, check: FakeCheck, answer_in_s: float = LONG_S, checking_s: float = 0.0) -> CheckedRun:
    return CheckedRun(
        cast("ChildRun", run), cast("PlanCheck", check), answer_after_s=answer_in_s, checking_s=checking_s
    )


def test_an_answer_does_not_wait_for_a_check_that_takes_too_long() -> None:
    """What has passed until then is carried out, not what comes a second late."""
    run, check = FakeRun(), FakeCheck()
    run.says("early", strategy="s")
    answers = checked_run(run, check, 0.2).updates()
    early = next(answers)

    run.says("late", last=True)
    last = next(answers)

    assert last.last
    assert last.end_reason == pb.END_REASON_TIME_LIMIT
    assert last.plan == early.plan == a_plan("early")
    assert last.strategy == "s"
    assert run.given_up
    assert check.stopped.wait(LONG_S)


def test_the_first_plan_is_checked_to_the_end_though_the_last_is_there() -> None:
    """Checking the last may take longer than there is time: one must have passed."""
    run, check = FakeRun(), FakeCheck()
    check.slow = True
    answers = checked_run(run, check).updates()
    run.says("first")
    assert check.asked.acquire(timeout=LONG_S)

    run.over = True
    check.go_on.set()

    assert next(answers).plan == a_plan("first")
    run.says("last", last=True)
    assert next(answers).plan == a_plan("last")


def test_an_answer_does_not_wait_for_a_child_that_says_nothing() -> None:
    """Its process may be stuck where no signal reaches it."""
    run = FakeRun()

    (last,) = checked_run(run, FakeCheck(), 0.0).updates()

    assert last.end_reason == pb.END_REASON_TIME_LIMIT
    assert not last.HasField("plan")
    assert "raise the time limit" in last.message
    assert run.given_up


@pytest.mark.parametrize("at_last", [False, True])
def test_a_plan_that_is_withheld_takes_none_along_that_has_passed(at_last: bool) -> None:
    """A broken plan is reported, but what was checked before it is carried out.

    The caller may call again, and must find the turn free.
    """
    run, check = FakeRun(), FakeCheck()
    answers = checked_run(run, check).updates()
    run.says("checked", strategy="s")
    next(answers)

    check.withhold = True
    run.says("wrong", last=at_last)
    last = next(answers)

    assert (last.end_reason, last.message) == (pb.END_REASON_ERROR, "it is wrong")
    assert (last.plan, last.strategy) == (a_plan("checked"), "s")
    assert run.over or at_last


def test_of_late_plans_only_the_first_and_the_last_are_checked() -> None:
    """The first is better than none, and the last must not wait for others.

    No plan of a call that was cancelled is checked: that would delay the stop.
    """
    run = FakeRun()
    answers = checked_run(run, FakeCheck(), checking_s=2 * LONG_S).updates()
    run.says("first")
    assert next(answers).plan == a_plan("first")

    run.says("skipped")
    run.says("unchecked", end_reason=pb.END_REASON_CANCELLED, last=True)
    last = next(answers)

    assert last.last
    assert last.plan == a_plan("first")


class FakeChild:
    """A child whose messages are all there before anybody takes one."""

    def __init__(self, *updates: pb.SolveUpdate) -> None:
        self.connection, self.own_end = Pipe()
        for message in (READ, *(update.SerializeToString() for update in updates)):
            self.own_end.send_bytes(message)

    def kill(self) -> None:
        """Do nothing: it has ended."""

    def close(self) -> None:
        """Close both ends."""
        self.connection.close()
        self.own_end.close()


def test_a_failure_takes_no_plan_along_that_nobody_has_taken_yet() -> None:
    """The snapshot may still be indexed for the checks when the strategy fails."""
    plan = pb.SolveUpdate(plan=a_plan("found"), strategy="s")
    failure = pb.SolveUpdate(end_reason=pb.END_REASON_ERROR, message="out of memory", last=True)
    ended = threading.Event()
    limits = {"reading_limit_s": LONG_S, "time_limit_s": LONG_S, "kill_after_s": LONG_S}
    child = cast("ChildProcess", FakeChild(plan, failure))
    run = ChildRun(child, b"", **limits, on_end=ended.set, prepare=lambda: None)
    assert ended.wait(LONG_S)

    *_, last = run.updates()

    assert (last.end_reason, last.message) == (pb.END_REASON_ERROR, "out of memory")
    assert (last.plan, last.strategy) == (a_plan("found"), "s")


class Letters:
    """Receives plans; the first one is held back until `go`."""

    def __init__(self, last: str = "") -> None:
        self.sent: list[tuple[str, float]] = []
        self.arrived, self.go, self.done = (threading.Event() for _ in range(3))
        self.last = last

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.sent]

    def send(self, plan: Solution, found: float) -> None:
        self.arrived.set()
        assert self.go.wait(HANG_S)
        self.sent.append((plan.packing.snapshot.id, found))
        if self.names[-1] == self.last:
            self.done.set()


def a_found_plan(name: str, node: int | None = 0) -> Solution:
    pod, snapshot = Item("pod", 0, (), (0,), None), Snapshot(name, (), {}, Pods())
    packing = packing_of(("node",), ((),), (pod,), (0,), snapshot=snapshot)
    return Solution(packing, (node,))


def test_plans_that_were_overtaken_are_not_sent_and_publishing_does_not_wait() -> None:
    """A thousand improvements a second would each be checked for nothing."""
    letters, clock = Letters(last="999"), iter(range(2000))

    with Outbox(letters.send, clock=lambda: float(next(clock)), interval_s=0) as outbox:
        outbox.publish(a_found_plan("first"))
        assert letters.arrived.wait(HANG_S)
        for number in range(1000):
            outbox.publish(a_found_plan(str(number)))
        assert letters.sent == []
        letters.go.set()
        assert letters.done.wait(HANG_S)

    assert letters.sent == [("first", 0.0), ("999", 1000.0)]


def a_bounded_plan(upper_bound: int) -> Solution:
    tier = TierResult(7, 0, 1, upper_bound, optimal=False, disruption=0, disruption_lower_bound=0)
    packing = packing_of(("n",), ((),), (Item("p", 7, (), (0,), None),), (7,))
    return Solution(packing, (0,), (tier,))


def test_a_plan_that_is_better_proved_is_told_as_progress_only() -> None:
    """The service would check the same changes anew, for a second if it is large."""
    sent: list[bytes] = []
    writer = UpdateWriter(sent.append, "s", started=0.0, decoded=1.0)

    writer.write(a_bounded_plan(upper_bound=9), found=2.0)
    writer.write(a_bounded_plan(upper_bound=5), found=3.0)

    first, second = (pb.SolveUpdate.FromString(one) for one in sent)
    assert first.plan.tiers[0].upper_bound == 9
    assert not second.HasField("plan")
    assert (second.progress.priority, second.progress.upper_bound) == (7, 5)
