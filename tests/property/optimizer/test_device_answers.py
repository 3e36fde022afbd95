"""Answers about devices pass the checker, with their certificates, and claim nothing that is false."""

import pytest
from certified_plans import reduced_snapshot
from device_cases import device_snapshots, feasible_with_devices
from examples import examples
from hypothesis import assume, given
from packing_oracle import best_number
from solving_in_process import finished_answer_to

from stowage_optimizer.bounds.phase import Phase
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.objective import score
from stowage_optimizer.model.options import Policy
from stowage_optimizer.verify import verify_plan
from stowage_optimizer.verify.certificate import verify_certificates

SOME = examples(60)


@pytest.mark.parametrize("policy", [pb.POLICY_STRICT, pb.POLICY_PAPER])
@SOME
@given(message=device_snapshots())
def test_an_answer_about_devices_passes_the_checker_and_its_certificates_too(
    policy: pb.Policy, message: pb.Snapshot
) -> None:
    """Devices are closed here, worn out, held by nobody, or by pods that would be given others."""
    reduced = reduced_snapshot(message)
    packing, own = reduced.packing, Policy(policy)
    assume(packing.bins is not None)
    asked = pb.SolveOptions(strategy="lexicographic", policy=policy, time_limit_s=1.0, workers=1, deterministic=True)
    scores = {score(packing, one, own) for one in feasible_with_devices(message, packing)}

    answer = finished_answer_to(message, asked)

    assert verify_plan(message, answer.plan, policy) == []
    assert verify_certificates(message, answer.plan, policy, reduced.left_alone).violations == ()
    reached = score(packing, answer.solution.assignment, own)
    for tier, priority in enumerate(packing.tiers):
        (told,) = (one for one in answer.plan.tiers if one.priority == priority)
        staying = reduced.staying(priority)
        assert told.placed == staying + reached[tier].placed
        assert told.upper_bound >= staying + best_number(scores, reached, tier, Phase.PLACE)
        assert told.disruption_lower_bound <= best_number(scores, reached, tier, Phase.DISRUPT)
