"""What a child sends on the way, and what its reader is shown of it."""

from __future__ import annotations

import threading

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.packing import Item, packing_of
from stowage_optimizer.model.pods import Pods
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.model.solution import Solution, TierResult
from stowage_optimizer.service.child import UpdateWriter
from stowage_optimizer.service.outbox import Outbox
from stowage_testbed.base.wait import HANG_S


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


def a_plan(name: str, node: int | None = 0) -> Solution:
    pod, snapshot = Item("pod", 0, (), (0,), None), Snapshot(name, (), {}, Pods())
    packing = packing_of(("node",), ((),), (pod,), (0,), snapshot=snapshot)
    return Solution(packing, (node,))


def test_plans_that_were_overtaken_are_not_sent_and_publishing_does_not_wait() -> None:
    """A thousand improvements a second would each be checked for nothing."""
    letters, clock = Letters(last="999"), iter(range(2000))

    with Outbox(letters.send, clock=lambda: float(next(clock)), interval_s=0) as outbox:
        outbox.publish(a_plan("first"))
        assert letters.arrived.wait(HANG_S)
        for number in range(1000):
            outbox.publish(a_plan(str(number)))
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
