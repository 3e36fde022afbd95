"""What a child sends on the way, and what its reader is shown of it."""

from __future__ import annotations

import json
import threading
from contextlib import AbstractContextManager, nullcontext
from itertools import count
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToDict
from snapshot_builder import figure_1
from solving_in_process import decoded

from stowage_optimizer.assignments.incumbent import SolutionWriter
from stowage_optimizer.bounds.proofs import Proof, trivial_bounds
from stowage_optimizer.bounds.question import Phase
from stowage_optimizer.cli import main
from stowage_optimizer.cli.solve import ProgressLines
from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Item, packing_of
from stowage_optimizer.model.pods import Pods
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.model.solution import Solution, TierResult
from stowage_optimizer.service.child import UpdateWriter
from stowage_optimizer.service.metrics import Metrics
from stowage_optimizer.service.outbox import Outbox
from stowage_optimizer.service.updates import progress_line, progress_of
from stowage_optimizer.strategies.lexicographic.shared_state import (
    ANYTHING,
    Limit,
    SharedState,
)
from stowage_optimizer.strategies.lexicographic.strategy import (
    PROOF_INTERVAL_S,
    _Publisher,
)
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


@pytest.mark.parametrize("crashes", [False, True])
def test_a_plan_that_waits_gives_way_to_the_answer_but_not_to_a_failure(
    crashes: bool,
) -> None:
    """The answer is at least as good; after a crash the plan is all there is."""
    letters = Letters()
    letters.go.set()

    def publish_two() -> None:
        with Outbox(letters.send, clock=lambda: 0.0, interval_s=60) as outbox:
            outbox.publish(a_plan("first"))
            assert letters.arrived.wait(HANG_S)
            outbox.publish(a_plan("second"))
            if crashes:
                raise RuntimeError

    ends: AbstractContextManager[object] = nullcontext()
    with pytest.raises(RuntimeError) if crashes else ends:
        publish_two()

    assert letters.names == (["first", "second"] if crashes else ["first"])


def test_bounds_alone_do_not_put_off_the_first_plan() -> None:
    """The empty plan comes first and tells the bounds; the interval is for plans."""
    letters = Letters(last="plan")
    letters.go.set()

    with Outbox(letters.send, clock=lambda: 0.0, interval_s=3600) as outbox:
        outbox.publish(a_plan("bounds", node=None))
        outbox.publish(a_plan("plan"))
        assert letters.done.wait(HANG_S)


def test_a_reader_that_went_away_does_not_stop_the_search() -> None:
    """The process is killed by then; no traceback must be shown."""

    def send(_plan: Solution, _found: float) -> None:
        raise BrokenPipeError

    with Outbox(send, clock=lambda: 0.0) as outbox:
        outbox.publish(a_plan("first"))
        outbox.publish(a_plan("second"))


def a_bounded_plan(upper_bound: int) -> Solution:
    tier = TierResult(
        7, 0, 1, upper_bound, optimal=False, disruption=0, disruption_lower_bound=0
    )
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


def test_bounds_that_move_are_told_while_the_plan_stays() -> None:
    """A long proof is seen to go on."""
    packing = reduce_snapshot(decoded(figure_1()))
    bounds = trivial_bounds(packing)
    bounds[-1].placed += 2
    shared = SharedState(packing.problem, strict=True, bounds=bounds)
    published: list[Solution] = []
    moments = count(0.0, PROOF_INTERVAL_S / 10)
    publisher = _Publisher(
        shared,
        SolutionWriter(packing, Policy.STRICT),
        published.append,
        lambda: next(moments),
    )
    publisher.publish()
    loose = published[0].tiers[-1].upper_bound

    anything = (ANYTHING,) * len(bounds)
    proof = Proof(ProofMethod.KNAPSACK)
    shared.limit(Limit(0, Phase.PLACE, anything, loose - 1, proof))
    publisher.publish_until(deadline=4 * PROOF_INTERVAL_S, latest=0.0)

    assert [plan.tiers[-1].upper_bound for plan in published] == [loose, loose - 1]


def test_a_line_of_progress_is_printed_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Plans come faster than anything changes in it."""
    lines = ProgressLines()

    for upper_bound in (9, 9, 8):
        lines.show(pb.Progress(priority=1, placed=3, upper_bound=upper_bound))

    printed = capsys.readouterr().err.splitlines()
    assert len(printed) == 2
    assert "3 of at most 8" in printed[1]


def an_update(*proved: bool) -> pb.SolveUpdate:
    update = pb.SolveUpdate()
    for index, optimal in enumerate(proved):
        update.plan.tiers.add(
            priority=9 - index, placed=10 + index, upper_bound=20, optimal=optimal
        )
    return update


@pytest.mark.parametrize(
    ("proved", "at_work"),
    [((True, False, False), (8, 11)), ((True, True), (8, 11)), ((), None)],
    ids=["the first that is not proved", "the last if all are", "none there are"],
)
def test_progress_is_of_the_tier_at_work(
    proved: tuple[bool, ...], at_work: tuple[int, int] | None
) -> None:
    """Tiers above it are settled, those below wait for it; a refusal has none."""
    progress = progress_of(an_update(*proved))

    assert (progress and (progress.priority, progress.placed)) == at_work


def test_what_the_solver_says_itself_goes_before_its_newest_plan() -> None:
    """It knows of more than that."""
    update = an_update(False)
    update.progress.stage = "dual bound"

    progress = progress_of(update)

    assert progress is not None
    assert progress_line(progress, 1.5).endswith(", dual bound")


def test_metrics_show_the_tier_at_work() -> None:
    """A dashboard sees a long solve, not only its end."""
    metrics, progress = Metrics(), progress_of(an_update(False))
    assert progress is not None

    metrics.progressed(progress)

    value_of = metrics.registry.get_sample_value
    for what, value in (("priority", 9), ("placed", 10), ("upper_bound", 20)):
        assert value_of("stowage_optimizer_progress", {"what": what}) == value


def test_the_command_line_tells_progress_beside_the_answer(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """On standard error, so that JSON stays JSON."""
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(MessageToDict(figure_1())))

    with pytest.raises(SystemExit) as ended:
        main(["solve", str(path), "--strategy", "paper", "--json", "--progress"])

    said = capfd.readouterr()
    assert ended.value.code == 0
    assert json.loads(said.out)["plan"]["optimal"]
    assert "priority 0 and above: 3 of at most 3 placed" in said.err
