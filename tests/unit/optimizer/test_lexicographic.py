"""The strategy `lexicographic` from outside: time, random choices and failures."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from crowded_clusters import crowded, crowded_cluster
from solving_in_process import answer_to

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.solution import EndReason
from stowage_optimizer.strategies.lexicographic.exact import MoveSearch
from stowage_optimizer.strategies.lexicographic.proving import Prover
from stowage_optimizer.verify import verify_plan
from stowage_optimizer.verify.certificate import verify_certificates


def test_the_same_seed_brings_the_same_plan_where_work_is_counted() -> None:
    """A plan that depends on the machine's load cannot be compared nor debugged."""
    snapshot = crowded(seed=2)

    plans = [
        answer_to(
            snapshot, strategy="lexicographic", deterministic=True, time_limit_s=0.3
        ).plan
        for _ in range(2)
    ]

    assert plans[0] == plans[1]
    assert plans[0].placements


@pytest.mark.parametrize("policy", [pb.POLICY_STRICT, pb.POLICY_PAPER])
def test_a_crowded_cluster_gains_pods(policy: pb.Policy) -> None:
    """The search has to find moves that no single insertion would."""
    snapshot = crowded(seed=1)

    answer = answer_to(
        snapshot, strategy="lexicographic", policy=policy, time_limit_s=2.0
    )

    last = answer.plan.tiers[-1]
    assert last.placed > last.placed_before
    assert verify_plan(snapshot, answer.plan, policy) == []


CLUSTERS = [
    crowded,
    lambda seed: crowded_cluster(seed, 1),
    lambda seed: crowded_cluster(seed, 3),
    lambda seed: crowded_cluster(seed, 3, constrained=True),
]


@pytest.mark.parametrize("prices_only", [False, True])
@pytest.mark.parametrize("policy", [pb.POLICY_STRICT, pb.POLICY_PAPER])
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_what_is_claimed_with_prices_holds_for_the_independent_checker(
    cluster: Callable[[int], pb.Snapshot],
    policy: pb.Policy,
    prices_only: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A wrong certificate is the worst bug this project can have."""
    if prices_only:
        # It is quicker on clusters as small as these, and needs no prices.
        monkeypatch.setattr(MoveSearch, "run", lambda *_: None)
    made = 0
    for seed in range(4):
        snapshot = cluster(seed)
        answer = answer_to(
            snapshot,
            strategy="lexicographic",
            policy=policy,
            time_limit_s=1.0,
            deterministic=True,
        )
        assert verify_plan(snapshot, answer.plan, policy) == []
        checked = verify_certificates(snapshot, answer.plan, policy)
        assert checked.violations == ()
        made += checked.claims

    assert made or not prices_only


def test_a_stage_that_hangs_does_not_hold_up_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No library's own limit is to be trusted: the caller's thread keeps the time."""
    hanging = threading.Event()
    monkeypatch.setattr(Prover, "prove", lambda *_: hanging.wait())

    try:
        answer = answer_to(crowded(seed=3), strategy="lexicographic", time_limit_s=0.2)
    finally:
        hanging.set()

    assert answer.end_reason in {EndReason.TIME_LIMIT, EndReason.OPTIMAL}
    assert not answer.solution.empty


def test_a_stage_that_fails_fails_the_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug in a thread must not pass for a result."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Prover, "prove", fail)

    with pytest.raises(ZeroDivisionError):
        answer_to(crowded(seed=3), strategy="lexicographic", time_limit_s=5.0)
