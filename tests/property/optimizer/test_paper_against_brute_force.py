"""Algorithm 1 against an oracle that tries every assignment."""

from __future__ import annotations

import pytest
from brute_force import best_value, outcome, value_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from snapshot_builder import SnapshotBuilder
from solving_in_process import answer_to

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.solution import EndReason

POLICIES = [pb.POLICY_STRICT, pb.POLICY_PAPER]
EXAMPLES = 120


@st.composite
def snapshots(draw: st.DrawFn) -> pb.Snapshot:
    """Up to 3 nodes and 6 pods of 3 priorities, some overcommitted, some fixed."""
    builder = SnapshotBuilder()
    names = [f"n{index}" for index in range(draw(st.integers(1, 3)))]
    for name in names:
        builder.node(
            name,
            cpu_milli=draw(st.integers(1, 6)),
            memory_bytes=draw(st.integers(2, 8)),
            pods=draw(st.integers(1, 4)),
        )
    for index in range(draw(st.integers(1, 6))):
        builder.pod(
            f"p{index}",
            cpu_milli=draw(st.integers(0, 4)),
            memory_bytes=draw(st.integers(1, 5)),
            priority=draw(st.integers(0, 2)),
            node=draw(st.sampled_from(["", "", *names])),
            movable=draw(st.integers(0, 4)) > 0,
        )
        if draw(st.integers(0, 5)) == 0:
            builder.message.forbidden_pairs.add(
                class_id=f"class-p{index}", node=draw(st.sampled_from(names))
            )
    return builder.message


@pytest.mark.parametrize("policy", POLICIES)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
@given(snapshot=snapshots())
def test_every_tier_is_as_good_as_the_best_assignment(
    policy: pb.Policy, snapshot: pb.Snapshot
) -> None:
    """Both phases of every tier must reach the optimum, for both policies.

    Under STRICT the oracle's value counts the running pods kept before the pods
    placed, which is the policy's definition: a running pod of a priority goes only
    if no best answer of the tiers above lets it stay.
    """
    answer = answer_to(snapshot, policy=policy)

    plan = answer.plan
    reached = value_of(snapshot, outcome(snapshot, plan), policy)
    assert reached == best_value(snapshot, policy)
    assert plan.optimal
    wanted = EndReason.NO_IMPROVEMENT if answer.solution.empty else EndReason.OPTIMAL
    assert answer.end_reason is wanted
