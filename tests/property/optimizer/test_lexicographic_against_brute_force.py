"""The strategy `lexicographic` against an oracle that tries every assignment."""

from __future__ import annotations

import pytest
from brute_force import best_value, outcome, value_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_snapshots import small_snapshots, tight_snapshots
from solving_in_process import answer_to

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.solution import EndReason

NAME = "lexicographic"
LIMIT_S = 5.0
"""Proofs are tried for shares of it; the smallest one is far longer than needed."""

POLICIES = [pb.POLICY_STRICT, pb.POLICY_PAPER]
SNAPSHOTS = st.one_of(small_snapshots(), tight_snapshots())
MANY = settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
@MANY
@given(snapshot=SNAPSHOTS)
def test_every_tier_is_as_good_as_the_best_assignment_and_proved(
    policy: pb.Policy, deterministic: bool, snapshot: pb.Snapshot
) -> None:
    """Small snapshots must be settled, in both ways of counting time."""
    answer = answer_to(
        snapshot,
        policy=policy,
        strategy=NAME,
        deterministic=deterministic,
        time_limit_s=LIMIT_S,
    )

    plan = answer.plan
    reached = value_of(snapshot, outcome(snapshot, plan), policy)
    assert reached == best_value(snapshot, policy)
    assert plan.optimal
    wanted = EndReason.NO_IMPROVEMENT if answer.solution.empty else EndReason.OPTIMAL
    assert answer.end_reason is wanted
