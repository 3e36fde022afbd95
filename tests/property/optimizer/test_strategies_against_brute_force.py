"""Every strategy that promises the best against an oracle that tries everything."""

from __future__ import annotations

from itertools import pairwise

import pytest
from brute_force import best_value, outcome, value_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_snapshots import small_snapshots, tight_snapshots
from solving_in_process import answer_to

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.encode import encode_plan
from stowage_optimizer.model.solution import EndReason, Solution
from stowage_optimizer.strategies.registry import shipped_strategies
from stowage_optimizer.verify import verify_plan

POLICIES = [pb.POLICY_STRICT, pb.POLICY_PAPER]
EVERY = sorted(shipped_strategies())
PROVERS = {"cpsat-aggregated", "portfolio", "z3"}
PROVING = [name for name in EVERY if name in PROVERS]
"""Those that reach the best answer and prove it; two more have files of their own."""
FINDING = [*PROVING, "milp"]
"""Those that reach it; a floating-point solver proves nothing."""
SNAPSHOTS = st.one_of(small_snapshots(), tight_snapshots())
FEW = settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("strategy", FINDING)
@FEW
@given(snapshot=SNAPSHOTS)
def test_every_tier_is_as_good_as_the_best_assignment(
    strategy: str, policy: pb.Policy, snapshot: pb.Snapshot
) -> None:
    """One objective for all of them, so that they can be compared."""
    answer = answer_to(snapshot, policy=policy, strategy=strategy)

    plan = answer.plan
    reached = value_of(snapshot, outcome(snapshot, plan), policy)
    assert reached == best_value(snapshot, policy)
    assert plan.optimal or strategy not in PROVING


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("strategy", EVERY)
@FEW
@given(snapshot=SNAPSHOTS)
def test_what_is_called_optimal_is(
    strategy: str, policy: pb.Policy, snapshot: pb.Snapshot
) -> None:
    """A wrong certificate is worse than none; heuristics may be lucky, not boastful."""
    answer = answer_to(snapshot, policy=policy, strategy=strategy)

    reached = value_of(snapshot, outcome(snapshot, answer.plan), policy)
    best = best_value(snapshot, policy)
    for tier, mine, oracle in zip(answer.plan.tiers, reached, best, strict=True):
        assert not tier.optimal or mine == oracle
        assert tier.upper_bound >= mine[1]
        if mine != oracle:
            assert tier.upper_bound >= oracle[1]
            break


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("strategy", EVERY)
@pytest.mark.parametrize("time_limit_s", [20.0, 0.003, 1e-6])
@settings(FEW, max_examples=15)
@given(snapshot=SNAPSHOTS)
def test_every_published_plan_passes_the_checker_and_gets_better(
    strategy: str, policy: pb.Policy, time_limit_s: float, snapshot: pb.Snapshot
) -> None:
    """Whatever is streamed may be the last word, also when time is far too short.

    A plan comes again where more is proved of it.
    """
    published: list[Solution] = []

    answer = answer_to(
        snapshot,
        policy=policy,
        time_limit_s=time_limit_s,
        published=published,
        strategy=strategy,
    )

    values = []
    for plan in (*published, answer.solution):
        message = encode_plan(plan)
        assert verify_plan(snapshot, message, policy) == []
        values.append(value_of(snapshot, outcome(snapshot, message), policy))
    assert values == sorted(values)
    for (one, value), (other, better) in pairwise(zip(published, values, strict=False)):
        assert better > value or _more_is_proved(one, other)
    assert values[-1] == values[-2]


def _more_is_proved(one: Solution, other: Solution) -> bool:
    """Tell whether no limit of the plan is wider than before, and some are tighter."""
    before, after = (
        [
            number
            for tier in plan.tiers
            for number in (
                -tier.upper_bound,
                tier.disruption_lower_bound,
                tier.optimal,
            )
        ]
        for plan in (one, other)
    )
    return before != after and all(a >= b for a, b in zip(after, before, strict=True))


@pytest.mark.parametrize("strategy", EVERY)
@settings(FEW, max_examples=10)
@given(snapshot=SNAPSHOTS)
def test_the_same_seed_and_steps_give_the_same_answer(
    strategy: str, snapshot: pb.Snapshot
) -> None:
    """Work is counted in steps there, so that the machine's load does not matter."""
    one, other = (
        answer_to(snapshot, deterministic=True, seed=7, strategy=strategy)
        for _ in range(2)
    )

    assert one == other


@pytest.mark.parametrize("strategy", EVERY)
def test_an_empty_cluster_is_no_accident(strategy: str) -> None:
    """No nodes, no pods: nothing to do, and nothing to trip over."""
    answer = answer_to(pb.Snapshot(id="empty"), strategy=strategy)

    assert answer.solution.empty
    assert answer.end_reason is EndReason.NO_IMPROVEMENT
