"""The strategy `lexicographic`: time, random choices, failures, and limits in force."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from crowded_clusters import crowded, crowded_cluster
from solving_in_process import Answer, answer_to

from stowage_optimizer.bounds.proofs import Proof, trivial_bounds
from stowage_optimizer.bounds.question import Phase
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.objective import TierScore
from stowage_optimizer.model.packing import Item, as_nodes, packing_of
from stowage_optimizer.model.solution import EndReason
from stowage_optimizer.search.mending import Mender
from stowage_optimizer.strategies.lexicographic.exact import MoveSearch
from stowage_optimizer.strategies.lexicographic.proving import Prover
from stowage_optimizer.strategies.lexicographic.shared_state import (
    ANYTHING,
    Limit,
    SharedState,
)
from stowage_optimizer.verify import verify_plan
from stowage_optimizer.verify.certificate import verify_certificates


def solved(
    snapshot: pb.Snapshot,
    time_limit_s: float,
    *,
    policy: pb.Policy = pb.POLICY_STRICT,
    deterministic: bool = False,
) -> Answer:
    return answer_to(
        snapshot,
        strategy="lexicographic",
        policy=policy,
        time_limit_s=time_limit_s,
        deterministic=deterministic,
    )


@pytest.mark.parametrize("policy", [pb.POLICY_STRICT, pb.POLICY_PAPER])
def test_a_crowded_cluster_gains_pods(policy: pb.Policy) -> None:
    """The search has to find moves that no single insertion would."""
    snapshot = crowded(seed=1)

    plan = solved(snapshot, 2.0, policy=policy).plan

    assert plan.tiers[-1].placed > plan.tiers[-1].placed_before
    assert verify_plan(snapshot, plan, policy) == []


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
        plan = solved(snapshot, 1.0, policy=policy, deterministic=True).plan
        assert verify_plan(snapshot, plan, policy) == []
        checked = verify_certificates(snapshot, plan, policy)
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
        answer = solved(crowded(seed=3), 0.2)
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
        solved(crowded(seed=3), 5.0)


@pytest.mark.parametrize(
    ("presumed", "before", "after"),
    [
        # Who moves a pod to place one more above may place more below as well.
        pytest.param(TierScore(1, 1, 0), 2, 3, id="void once a plan reaches less"),
        pytest.param(ANYTHING, 2, 2, id="of every plan"),
        # A proof may be of better plans than the one that there is when it is done.
        pytest.param(TierScore(1, 2, -2), 3, 2, id="counts once a plan reaches it"),
    ],
)
def test_a_limit_holds_as_long_as_the_plan_reaches_what_it_presumes(
    presumed: TierScore, before: int, after: int
) -> None:
    """A pod runs where one that waits would fit, another waits too."""
    packing = packing_of(
        ("large", "small"),
        ((4,), (2,)),
        (
            Item("runs", 1, (2,), (0, 1), 0),
            Item("important", 1, (4,), (0,), None),
            Item("waits", 0, (2,), (0, 1), None),
        ),
        (1, 0),
    )
    shared = SharedState(packing.problem, strict=True, bounds=trivial_bounds(packing))

    proof = Proof(ProofMethod.DUAL_BOUND)
    shared.limit(Limit(1, Phase.PLACE, (presumed, ANYTHING), 2, proof))
    assert shared.bounds[1].placed == before

    assert shared.offer(as_nodes((1, 0, None)), Mender(shared.problem, strict=True))
    assert shared.bounds[1].placed == after
