"""Better plans come in crowds; those who wait for them must not drown."""

from __future__ import annotations

import threading

import pytest

from stowage_optimizer.model.packing import Item, Packing
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.model.solution import Solution
from stowage_optimizer.service.outbox import Outbox


class Letters:
    """Receives plans; the first one is held back until `go`."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, float]] = []
        self.arrived = threading.Event()
        self.go = threading.Event()

    def send(self, plan: Solution, found: float) -> None:
        self.arrived.set()
        assert self.go.wait(20)
        self.sent.append((plan.packing.snapshot.id, found))


def a_plan(name: str, node: int | None = 0) -> Solution:
    pod, snapshot = Item("pod", 0, (), (0,), None), Snapshot(name, (), {}, ())
    packing = Packing(("node",), ((),), (pod,), (0,), (), snapshot=snapshot)
    return Solution(packing, (node,))


def test_plans_that_were_overtaken_are_not_sent() -> None:
    """A thousand improvements a second would each be checked for nothing."""
    letters, clock = Letters(), iter(range(2000))
    done = threading.Event()

    def send(plan: Solution, found: float) -> None:
        letters.send(plan, found)
        if plan.packing.snapshot.id == "999":
            done.set()

    with Outbox(send, clock=lambda: float(next(clock)), interval_s=0) as outbox:
        outbox.publish(a_plan("first"))
        assert letters.arrived.wait(20)
        for number in range(1000):
            outbox.publish(a_plan(str(number)))
        letters.go.set()
        assert done.wait(20)

    assert letters.sent == [("first", 0.0), ("999", 1000.0)]


def test_publishing_does_not_wait_for_the_reader() -> None:
    """The search goes on while a plan is being checked."""
    letters = Letters()

    with Outbox(letters.send, clock=lambda: 0.0) as outbox:
        outbox.publish(a_plan("first"))
        assert letters.arrived.wait(20)
        outbox.publish(a_plan("second"))
        assert letters.sent == []
        letters.go.set()


def test_a_plan_that_waits_gives_way_to_the_answer_but_not_to_a_failure() -> None:
    """The answer is at least as good; after a crash the plan is all there is."""
    ended, crashed = Letters(), Letters()
    for letters in (ended, crashed):
        letters.go.set()

    with Outbox(ended.send, clock=lambda: 0.0, interval_s=60) as outbox:
        _publish_two(outbox, ended)
    with pytest.raises(RuntimeError):
        _publish_two_and_crash(crashed)

    assert [name for name, _ in ended.sent] == ["first"]
    assert [name for name, _ in crashed.sent] == ["first", "second"]


def test_bounds_alone_do_not_put_off_the_first_plan() -> None:
    """The empty plan comes first and tells the bounds; the interval is for plans."""
    names: list[str] = []
    second = threading.Event()

    def send(plan: Solution, _found: float) -> None:
        names.append(plan.packing.snapshot.id)
        if plan.packing.snapshot.id == "plan":
            second.set()

    with Outbox(send, clock=lambda: 0.0, interval_s=3600) as outbox:
        outbox.publish(a_plan("bounds", node=None))
        outbox.publish(a_plan("plan"))
        assert second.wait(20)

    assert names[-1] == "plan"


def test_a_reader_that_went_away_does_not_stop_the_search() -> None:
    """The process is killed by then; no traceback must be shown."""

    def send(_plan: Solution, _found: float) -> None:
        raise BrokenPipeError

    with Outbox(send, clock=lambda: 0.0) as outbox:
        outbox.publish(a_plan("first"))
        outbox.publish(a_plan("second"))


def _publish_two(outbox: Outbox, letters: Letters) -> None:
    outbox.publish(a_plan("first"))
    assert letters.arrived.wait(20)
    outbox.publish(a_plan("second"))


def _publish_two_and_crash(letters: Letters) -> None:
    with Outbox(letters.send, clock=lambda: 0.0, interval_s=60) as outbox:
        _publish_two(outbox, letters)
        raise RuntimeError
