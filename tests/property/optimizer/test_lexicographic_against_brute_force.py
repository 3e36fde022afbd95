"""The strategy `lexicographic` against an oracle that tries every assignment."""

from __future__ import annotations

import pytest
from brute_force import best_value, outcome, value_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_snapshots import small_snapshots, tight_snapshots
from solving_in_process import answer_to

from optimizer.contract import optimizer_pb2 as pb
from optimizer.model.encode import encode_plan
from optimizer.model.plan import EndReason, Plan
from optimizer.verify import verify_plan

NAME = "lexicographic"
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
        snapshot, policy=policy, strategy=NAME, deterministic=deterministic
    )

    plan = encode_plan(answer.plan)
    reached = value_of(snapshot, outcome(snapshot, plan), policy)
    assert reached == best_value(snapshot, policy)
    assert plan.optimal
    wanted = EndReason.NO_IMPROVEMENT if answer.plan.empty else EndReason.OPTIMAL
    assert answer.end_reason is wanted


@pytest.mark.parametrize("policy", POLICIES)
@MANY
@given(snapshot=SNAPSHOTS, time_limit_s=st.sampled_from([20.0, 0.003, 1e-6]))
def test_every_published_plan_passes_the_checker_and_gets_better(
    policy: pb.Policy, snapshot: pb.Snapshot, time_limit_s: float
) -> None:
    """Whatever is streamed may be the last word, also when time is far too short."""
    published: list[Plan] = []

    answer = answer_to(
        snapshot,
        policy=policy,
        strategy=NAME,
        time_limit_s=time_limit_s,
        published=published,
    )

    values = []
    for plan in (*published, answer.plan):
        message = encode_plan(plan)
        assert verify_plan(snapshot, message, policy) == []
        values.append(value_of(snapshot, outcome(snapshot, message), policy))
    assert values[:-1] == sorted(set(values[:-1]))
    assert values[-1] == values[-2]
