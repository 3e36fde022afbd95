"""What is claimed at any moment holds for the best plan of that moment."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packing_oracle import best_number, feasible_assignments, feasible_scores, packings

from stowage_optimizer.bounds.proofs import TierBounds, trivial_bounds
from stowage_optimizer.bounds.question import Phase
from stowage_optimizer.model.budget import Budget
from stowage_optimizer.model.objective import Score, score
from stowage_optimizer.model.options import Policy, SolveOptions
from stowage_optimizer.model.packing import Packing, as_assignment, as_nodes
from stowage_optimizer.search.mending import Mender
from stowage_optimizer.strategies.lexicographic.proving import Prover
from stowage_optimizer.strategies.lexicographic.shared_state import SharedState, WorkClock

MANY = settings(max_examples=800, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
PLANS = 5


def _contradicted(bounds: TierBounds, scores: set[Score], reached: Score, tier: int, *, strict: bool) -> list[Phase]:
    """Return the phases whose limit some assignment beats that is as good above."""
    best = {phase: best_number(scores, reached, tier, phase) for phase in Phase}
    beaten = {
        Phase.KEEP: strict and best[Phase.KEEP] > bounds.kept,
        Phase.PLACE: best[Phase.PLACE] > bounds.placed,
        Phase.DISRUPT: best[Phase.DISRUPT] < bounds.disruption,
    }
    return [phase for phase, is_beaten in beaten.items() if is_beaten]


@pytest.mark.parametrize("policy", [Policy.STRICT, Policy.PAPER])
@MANY
@given(packing=packings(), data=st.data())
def test_no_limit_outlives_the_plan_that_it_was_proved_for(
    policy: Policy, packing: Packing, data: st.DataObject
) -> None:
    """A plan with a pod more above may move more pods, and then deny less below."""
    strict = policy is Policy.STRICT
    scores = feasible_scores(packing, policy)
    plans = sorted(feasible_assignments(packing), key=lambda plan: score(packing, plan, policy))
    drawn = st.lists(st.integers(0, len(plans) - 1), max_size=PLANS, unique=True)
    shared = SharedState(packing.problem, strict, trivial_bounds(packing))
    mender = Mender(shared.problem, strict=strict)
    options = SolveOptions(policy=policy, deterministic=True, time_limit_s=10.0)
    work_clock = WorkClock(lambda: 0.0, counted=True)
    budget = Budget.begin(options, lambda: 0.0)
    prover = Prover(shared, packing, budget, work_clock)
    for number in sorted(data.draw(drawn)):
        shared.offer(as_nodes(plans[number]), mender)
        prover.prove(work_clock.now() + data.draw(st.sampled_from([0.02, 0.2, 1.0])))

        _, nodes, bounds = shared.snapshot()
        reached = score(packing, as_assignment(nodes), policy)
        for tier, own in enumerate(bounds):
            assert not _contradicted(own, scores, reached, tier, strict=strict)
