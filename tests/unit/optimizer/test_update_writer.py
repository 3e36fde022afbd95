"""A waiting caller gets plans and proofs, and nothing twice."""

from __future__ import annotations

from itertools import count

import pytest
from snapshot_builder import figure_1
from solving_in_process import decoded

from stowage_optimizer.cli.solve import ProgressLines
from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Item, Packing
from stowage_optimizer.model.solution import Solution, TierResult
from stowage_optimizer.search.problem import make_problem
from stowage_optimizer.service.child import UpdateWriter
from stowage_optimizer.strategies.bounds import Proof, trivial_bounds
from stowage_optimizer.strategies.incumbent import SolutionWriter
from stowage_optimizer.strategies.lexicographic.shared_state import SharedState
from stowage_optimizer.strategies.lexicographic.strategy import (
    PROOF_INTERVAL_S,
    _Publisher,
)


def a_plan(upper_bound: int) -> Solution:
    tier = TierResult(
        priority=7,
        placed_before=0,
        placed=1,
        upper_bound=upper_bound,
        optimal=False,
        disruption=0,
        disruption_lower_bound=0,
    )
    packing = Packing(("n",), ((),), (Item("p", 7, (), (0,), None),), (7,), ())
    return Solution(packing, (0,), (tier,))


def test_a_plan_that_is_better_proved_is_told_as_progress_only() -> None:
    """The service would check the same changes anew, for a second if it is large."""
    sent: list[bytes] = []
    writer = UpdateWriter(sent.append, "s", started=0.0, decoded=1.0)

    writer.write(a_plan(upper_bound=9), found=2.0)
    writer.write(a_plan(upper_bound=5), found=3.0)

    first, second = (pb.SolveUpdate.FromString(one) for one in sent)
    assert first.plan.tiers[0].upper_bound == 9
    assert not second.HasField("plan")
    assert (second.progress.priority, second.progress.upper_bound) == (7, 5)


def test_bounds_that_move_are_told_while_the_plan_stays() -> None:
    """A long proof is seen to go on."""
    packing = reduce_snapshot(decoded(figure_1()))
    bounds = trivial_bounds(packing)
    bounds[-1].placed += 2
    shared = SharedState(make_problem(packing), strict=True, bounds=bounds)
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

    shared.limit_placed(0, loose - 1, Proof(ProofMethod.KNAPSACK))
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
