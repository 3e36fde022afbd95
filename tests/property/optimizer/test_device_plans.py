"""Plans for pods that ask for devices, against every assignment in every order of arrival."""

from collections import Counter

import pytest
from device_fleets import decoded, random_fleet
from device_oracle import DeviceOracle
from packing_oracle import EARLIER, at_least, feasible_assignments, number_of
from solving_in_process import finished_answer_to

from stowage_optimizer.bounds.phase import Phase
from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.objective import Score, score
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.solution import Solution
from stowage_optimizer.verify import verify_plan

SEEDS = 40
"""Fleets of each test; all plans of one are tried."""


def false_claims(packing: Packing, solution: Solution, scores: set[Score], policy: Policy) -> list[str]:
    """Return what ``solution`` claims that some plan refutes."""
    reached = score(packing, solution.assignment, policy)
    best = max(scores)
    claims = []
    for tier, priority in enumerate(packing.tiers):
        own = next(one for one in solution.tiers if one.priority == priority)
        staying = own.placed - reached[tier].placed
        if own.optimal and reached[: tier + 1] != best[: tier + 1]:
            claims.append(f"tier {priority} is optimal: {reached}, {best}")
        for phase, bound in ((Phase.PLACE, own.upper_bound - staying), (Phase.DISRUPT, own.disruption_lower_bound)):
            among = [number_of(one, tier, phase) for one in scores if at_least(one, reached, tier, EARLIER[phase])]
            if (min(among) < bound) if phase is Phase.DISRUPT else (max(among) > bound):
                claims.append(f"tier {priority} {phase}: {bound}, {among}")
    return claims


@pytest.mark.parametrize("asked_policy", [pb.POLICY_STRICT, pb.POLICY_PAPER])
@pytest.mark.parametrize(
    ("strategy", "max_moves"), [("lexicographic", None), ("lexicographic", 1), ("first-fit-decreasing", None)]
)
def test_every_plan_can_be_carried_out_and_nothing_false_is_claimed(
    asked_policy: pb.Policy, strategy: str, max_moves: int | None
) -> None:
    """Bounds know devices as amounts at most, and programs not at all: what they say must hold all the same."""
    seen: Counter[str] = Counter()
    policy = Policy(asked_policy)
    asked = pb.SolveOptions(
        strategy=strategy, policy=asked_policy, time_limit_s=1.0, workers=1, deterministic=True, max_moves=max_moves
    )
    for seed in range(SEEDS):
        message = random_fleet(seed, nodes=2, pods=5, tiers=2)
        snapshot = decoded(message)
        packing = reduce_snapshot(snapshot)
        if packing.bins is None:
            continue
        oracle = DeviceOracle(snapshot, packing)
        scores = {score(packing, one, policy) for one in feasible_assignments(packing) if oracle.reachable(one)}
        published: list[Solution] = []

        answer = finished_answer_to(message, asked, published=published)

        assert verify_plan(message, answer.plan, asked_policy) == [], seed
        for solution in (*published, answer.solution):
            assert score(packing, solution.assignment, policy) in scores, seed
            assert false_claims(packing, solution, scores, policy) == [], seed
        if max_moves is None:
            seen["best"] += score(packing, answer.solution.assignment, policy) == max(scores)
        seen["turns"] += len(answer.solution.turns)
        seen["optimal"] += answer.solution.optimal
        seen["all"] += 1
    assert seen["turns"] > seen["all"] / 4, seen
    if strategy == "lexicographic" and max_moves is None:
        assert seen["best"] >= 0.95 * seen["all"], seen
