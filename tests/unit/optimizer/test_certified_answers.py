"""What the default strategy claims with prices, its prices prove."""

from __future__ import annotations

import pytest
from crowded_clusters import crowded_cluster
from solving_in_process import answer_to

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify import verify_plan
from stowage_optimizer.verify.certificate import verify_certificates


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("priorities", [1, 3])
@pytest.mark.parametrize("constrained", [False, True])
def test_the_answers_own_prices_prove_its_limits(
    seed: int, priorities: int, constrained: bool
) -> None:
    """From search to file, nothing on the way may bend what was proved."""
    snapshot = crowded_cluster(seed, priorities, constrained=constrained)

    answer = answer_to(
        snapshot, strategy="lexicographic", time_limit_s=1.0, deterministic=True
    )

    plan = answer.plan
    assert verify_plan(snapshot, plan, pb.POLICY_STRICT) == []
    checked = verify_certificates(snapshot, plan, pb.POLICY_STRICT)
    assert checked.violations == ()
