"""A call that waits for an answer does not wait for the checker."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import cast

import pytest

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.service.run import Run
from stowage_optimizer.service.updates import last_update
from stowage_optimizer.service.vetting import PlanGate, Vetting

LONG_S = 60.0
"""No test gets there: what it waits for happens before, or it hangs and fails."""


class FakeRun:
    """Yields scripted updates, and notes how it was ended."""

    def __init__(self) -> None:
        self.ends_by = time.monotonic()
        self.said: SimpleQueue[pb.SolveUpdate] = SimpleQueue()
        self.read: Callable[[], None] = lambda: None
        self.over = self.cancelled = False
        self.given_up = False

    def on_read(self, callback: Callable[[], None]) -> None:
        self.read = callback

    def updates(self) -> Iterator[pb.SolveUpdate]:
        while True:
            update = self.said.get()
            yield update
            if update.last:
                return

    def cancel(self) -> None:
        self.over = self.cancelled = True
        self.said.put(pb.SolveUpdate(end_reason=pb.END_REASON_CANCELLED, last=True))

    def give_up(self) -> None:
        self.given_up = True
        self.cancel()


class FakeGate:
    """Checks last plans for ever, until it must stop."""

    def __init__(self, withhold: bool = False) -> None:
        self.withhold = withhold
        self.stopped = threading.Event()

    def get_ready(self) -> None:
        pass

    def check(
        self, update: pb.SolveUpdate, stop: Callable[[], bool]
    ) -> pb.SolveUpdate | None:
        if self.withhold:
            return last_update(pb.END_REASON_ERROR, "it is wrong")
        if not update.last:
            return update
        while not stop():
            pass
        self.stopped.set()
        return None


def a_plan(name: str) -> pb.Plan:
    return pb.Plan(placements=[pb.Placement(pod_uid=name, node="n")])


def vetting(
    run: FakeRun, gate: FakeGate, answer_in_s: float, *, checking_s: float = 0.0
) -> Vetting:
    return Vetting(
        cast("Run", run),
        cast("PlanGate", gate),
        answer_after_s=answer_in_s,
        checking_s=checking_s,
    )


def test_an_answer_does_not_wait_for_a_check_that_takes_too_long() -> None:
    """What has passed until then is carried out, not what comes a second late."""
    run, gate = FakeRun(), FakeGate()
    run.said.put(pb.SolveUpdate(plan=a_plan("early"), strategy="s"))
    answers = vetting(run, gate, 0.2).updates()
    early = next(answers)

    run.said.put(pb.SolveUpdate(plan=a_plan("late"), last=True))
    last = next(answers)

    assert last.last
    assert last.end_reason == pb.END_REASON_TIME_LIMIT
    assert last.plan == early.plan == a_plan("early")
    assert last.strategy == "s"
    assert run.given_up
    assert gate.stopped.wait(LONG_S)


class SlowGate(FakeGate):
    """Lets each plan pass once released, unless it must stop."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go_on = threading.Event(), threading.Event()
        self.passed: list[str] = []

    def check(
        self, update: pb.SolveUpdate, stop: Callable[[], bool]
    ) -> pb.SolveUpdate | None:
        self.asked.set()
        self.go_on.wait(LONG_S)
        if stop():
            return None
        self.passed.append(update.plan.placements[0].pod_uid)
        return update


def test_the_first_plan_is_checked_to_the_end_though_the_last_is_there() -> None:
    """Checking the last may take longer than there is time: one must have passed."""
    run, gate = FakeRun(), SlowGate()
    answers = vetting(run, gate, LONG_S).updates()
    run.said.put(pb.SolveUpdate(plan=a_plan("first")))
    assert gate.asked.wait(LONG_S)

    run.over = True
    run.said.put(pb.SolveUpdate(plan=a_plan("last"), last=True))
    gate.go_on.set()

    *_, last = answers
    assert last.plan == a_plan("last")
    assert gate.passed == ["first", "last"]


def test_an_answer_does_not_wait_for_a_child_that_says_nothing() -> None:
    """Its process may be stuck where no signal reaches it."""
    run = FakeRun()

    (last,) = vetting(run, FakeGate(), 0.0).updates()

    assert last.end_reason == pb.END_REASON_TIME_LIMIT
    assert not last.HasField("plan")
    assert "raise the time limit" in last.message
    assert run.given_up


def test_an_answer_is_due_sooner_once_the_snapshot_has_been_read() -> None:
    """The waiting thread sleeps until the latest moment, and must be woken."""
    run = FakeRun()
    run.ends_by = time.monotonic() + LONG_S
    waiting = vetting(run, FakeGate(), 0.0)
    answers: SimpleQueue[pb.SolveUpdate] = SimpleQueue()
    asleep = threading.Thread(target=lambda: [*map(answers.put, waiting.updates())])
    asleep.start()

    run.ends_by = time.monotonic()
    run.read()

    assert answers.get(timeout=LONG_S / 2).end_reason == pb.END_REASON_TIME_LIMIT
    asleep.join(LONG_S)


def test_a_plan_that_is_withheld_ends_the_run_before_it_is_told() -> None:
    """Its caller may call again and must find the turn free."""
    run = FakeRun()
    run.said.put(pb.SolveUpdate(plan=a_plan("wrong")))

    (last,) = vetting(run, FakeGate(withhold=True), LONG_S).updates()

    assert last.end_reason == pb.END_REASON_ERROR
    assert run.over


@pytest.mark.parametrize("at_last", [False, True])
def test_a_plan_that_is_withheld_takes_none_along_that_has_passed(
    at_last: bool,
) -> None:
    """A broken plan is reported, but what was checked before it is carried out."""
    run, gate = FakeRun(), FakeGate()
    answers = vetting(run, gate, LONG_S).updates()
    run.said.put(pb.SolveUpdate(plan=a_plan("checked"), strategy="s"))
    next(answers)

    gate.withhold = True
    run.said.put(pb.SolveUpdate(plan=a_plan("wrong"), last=at_last))
    last = next(answers)

    assert last.end_reason == pb.END_REASON_ERROR
    assert last.message == "it is wrong"
    assert last.plan == a_plan("checked")
    assert last.strategy == "s"


def test_a_cancelled_call_brings_no_plan_that_was_not_checked() -> None:
    """Checking it would delay the stop of the service."""
    run = FakeRun()
    answers = vetting(run, FakeGate(), LONG_S).updates()
    run.said.put(pb.SolveUpdate(plan=a_plan("checked")))
    next(answers)

    run.said.put(
        pb.SolveUpdate(
            plan=a_plan("unchecked"), end_reason=pb.END_REASON_CANCELLED, last=True
        )
    )
    last = next(answers)

    assert last.end_reason == pb.END_REASON_CANCELLED
    assert last.plan == a_plan("checked")


class CountingGate(FakeGate):
    """Lets everything pass, and tells when it has seen so much."""

    def __init__(self, awaited: int) -> None:
        super().__init__()
        self.left, self.seen = awaited, threading.Event()

    def check(
        self, update: pb.SolveUpdate, stop: Callable[[], bool]
    ) -> pb.SolveUpdate | None:
        del stop
        self.left -= 1
        if self.left == 0:
            self.seen.set()
        return update


def test_progress_does_not_overtake_a_plan_that_nobody_has_taken_yet() -> None:
    """A slow caller gets every step forward that it has room for, plans first."""
    run, gate = FakeRun(), CountingGate(awaited=3)
    answers = vetting(run, gate, LONG_S).updates()
    run.said.put(pb.SolveUpdate(plan=a_plan("better")))
    for _ in range(2):
        run.said.put(pb.SolveUpdate(progress=pb.Progress(upper_bound=3)))
    assert gate.seen.wait(LONG_S)

    assert next(answers).plan == a_plan("better")

    run.cancel()
    assert list(answers)[-1].last


def test_of_late_plans_only_the_first_and_the_last_are_checked() -> None:
    """The first is better than none, and the last must not wait for others."""
    run = FakeRun()
    answers = vetting(run, FakeGate(), LONG_S, checking_s=2 * LONG_S).updates()
    run.said.put(pb.SolveUpdate(plan=a_plan("first")))
    assert next(answers).plan == a_plan("first")

    run.said.put(pb.SolveUpdate(plan=a_plan("skipped")))
    run.said.put(pb.SolveUpdate(end_reason=pb.END_REASON_CANCELLED, last=True))
    last = next(answers)

    assert last.last
    assert last.plan == a_plan("first")
