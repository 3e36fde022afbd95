"""The strategy `lexicographic`: time, random choices, failures, and limits in force."""

from __future__ import annotations

import threading
from itertools import count

import pytest
from crowded_clusters import crowded_cluster
from snapshot_builder import figure_1
from solving_in_process import Answer, answer_to, decoded

from stowage_optimizer.assignments.incumbent import SolutionWriter
from stowage_optimizer.bounds.proofs import Proof, trivial_bounds
from stowage_optimizer.bounds.question import Phase
from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.solution import EndReason, Solution
from stowage_optimizer.strategies.lexicographic.proving import Prover
from stowage_optimizer.strategies.lexicographic.shared_state import ANYTHING, Limit, SharedState
from stowage_optimizer.strategies.lexicographic.strategy import PROOF_INTERVAL_S, _Publisher
from stowage_optimizer.verify import verify_plan


def solved(snapshot: pb.Snapshot, time_limit_s: float) -> Answer:
    return answer_to(snapshot, strategy="lexicographic", time_limit_s=time_limit_s)


@pytest.mark.parametrize("policy", [pb.POLICY_STRICT, pb.POLICY_PAPER])
def test_a_crowded_cluster_gains_pods(policy: pb.Policy) -> None:
    """The search has to find moves that no single insertion would."""
    snapshot = crowded_cluster(1)

    plan = answer_to(snapshot, strategy="lexicographic", policy=policy, time_limit_s=2.0, deterministic=True).plan

    assert plan.tiers[-1].placed > plan.tiers[-1].placed_before
    assert verify_plan(snapshot, plan, policy) == []


def test_a_stage_that_hangs_does_not_hold_up_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """No library's own limit is to be trusted: the caller's thread keeps the time."""
    hanging = threading.Event()
    monkeypatch.setattr(Prover, "prove", lambda *_: hanging.wait())

    try:
        answer = solved(crowded_cluster(3), 0.2)
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
        solved(crowded_cluster(3), 5.0)


def test_bounds_that_move_are_told_while_the_plan_stays() -> None:
    """A long proof is seen to go on."""
    packing = reduce_snapshot(decoded(figure_1()))
    bounds = trivial_bounds(packing)
    bounds[-1].placed += 2
    shared = SharedState(packing.problem, strict=True, bounds=bounds)
    published: list[Solution] = []
    moments = count(0.0, PROOF_INTERVAL_S / 10)
    publisher = _Publisher(shared, SolutionWriter(packing, Policy.STRICT), published.append, lambda: next(moments))
    publisher.publish()
    loose = published[0].tiers[-1].upper_bound

    anything = (ANYTHING,) * len(bounds)
    proof = Proof(ProofMethod.KNAPSACK)
    shared.limit(Limit(0, Phase.PLACE, anything, loose - 1, proof))
    publisher.publish_until(deadline=4 * PROOF_INTERVAL_S, latest=0.0)

    assert [plan.tiers[-1].upper_bound for plan in published] == [loose, loose - 1]
