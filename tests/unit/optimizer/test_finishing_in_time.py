"""Finishing plans keeps to the time limit, at any size."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from snapshot_builder import SnapshotBuilder, figure_1
from solving_in_process import decoded

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.options import Limits, Policy, SolveOptions
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.solution import Solution
from stowage_optimizer.strategies.budget import Budget
from stowage_optimizer.strategies.finish.finishing import finished
from stowage_optimizer.strategies.finish.limits import Trimming
from stowage_optimizer.strategies.strategy import Publish

LIMIT_S = 10.0
NO_LIMITS = Limits()


@dataclass(slots=True)
class Asked:
    """Finds nothing, and notes how much time it was given."""

    limit_s: list[float] = field(default_factory=list)

    def solve(self, packing: Packing, budget: Budget, publish: Publish) -> Solution:
        """Note the limit."""
        del publish
        self.limit_s.append(budget.limit_s)
        return Solution(packing, packing.current)


def given_s(
    pods: int, limits: Limits = NO_LIMITS, *, deterministic: bool = False
) -> float:
    """Return the time left for finding plans of so many pods."""
    builder = SnapshotBuilder().node("n")
    for number in range(pods):
        builder.pod(f"p{number}", of="web")
    builder.pod_class("web")
    options = SolveOptions(
        time_limit_s=LIMIT_S, limits=limits, deterministic=deterministic
    )
    strategy = Asked()
    packing = reduce_snapshot(decoded(builder.message))
    budget = Budget.begin(options, lambda: 0.0)
    finished(strategy, packing, budget, lambda _: None)
    (given,) = strategy.limit_s
    return given


def test_large_plans_leave_time_to_be_finished() -> None:
    """Else they come too late, each by as much as it is large."""
    small, large = given_s(10), given_s(20_000)

    assert 0.99 * LIMIT_S < small < LIMIT_S
    assert 0.8 * LIMIT_S < large < small


def test_plans_that_may_be_trimmed_leave_more_time() -> None:
    """Telling steps apart takes longer than writing them down."""
    assert given_s(10, Limits(max_moves=3)) < 0.95 * LIMIT_S


def test_counted_work_is_given_the_same_whatever_the_size() -> None:
    """Same snapshot, same plan: time must not tell."""
    assert given_s(20_000, deterministic=True) == LIMIT_S


@pytest.mark.parametrize("policy", Policy)
def test_a_plan_that_there_is_no_time_to_trim_disrupts_no_pod(policy: Policy) -> None:
    """Who waits and fits still gets a node: that needs no steps."""
    message = figure_1()
    message.pods.add(uid="small", name="small", namespace="default", class_id="small")
    message.pod_classes.add(
        id="small", namespace="default", requests=pb.Resources(memory_bytes=1)
    )
    packing = reduce_snapshot(decoded(message))
    trimming = Trimming(
        packing,
        policy,
        replace(Limits(), max_moves=0),
        owners=("",) * len(packing.items),
        stop=lambda: True,
    )

    trimmed = trimming.trim((1, 1, 0, None))

    homes = [item.home for item in packing.items]
    assert list(trimmed[:3]) == homes[:3]
    assert trimmed[3] is not None
