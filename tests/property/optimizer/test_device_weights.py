"""Devices as weights: whatever these are, no bound is below what can be."""

import numpy as np
import pytest
from certified_plans import reduced_snapshot
from device_builder import DeviceBuilder, shared
from device_cases import device_snapshots, feasible_with_devices
from examples import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from packing_oracle import best_number

from stowage_optimizer.bounds.aggregate_relaxation import aggregate_bound
from stowage_optimizer.bounds.device_weights import relaxed, relaxed_by
from stowage_optimizer.bounds.dual import DualSearch
from stowage_optimizer.bounds.knapsack import knapsack_bound
from stowage_optimizer.bounds.phase import Phase, Question
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.objective import score
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.search.search_arrays import overcommitted

MANY = examples(100)

LARGE = 2**20


def _weights(data: st.DataObject, number: int) -> list[np.ndarray]:
    weight = st.integers(0, LARGE) | st.sampled_from([0, 0, 1, 2, 5])
    vectors = st.lists(st.lists(weight, min_size=number, max_size=number), min_size=1, max_size=4)
    return [np.array(one, np.int64) for one in data.draw(vectors)]


def _relaxed(packing: Packing, data: st.DataObject) -> Packing:
    """Return a relaxation by the weights that are found, in much or no time, or by any others."""
    time = data.draw(st.sampled_from(["much", "none", "other weights"]))
    if time == "other weights":
        return relaxed_by(packing, _weights(data, len(packing.snapshot.device_requests)))
    return relaxed(packing, lambda: 0.0, 10.0 if time == "much" else -1.0)


def _fits(packing: Packing, assignment: Assignment) -> bool:
    """Return whether no dimension of a node is exceeded, unless nobody comes who takes of it."""
    problem = packing.problem
    for node in range(len(problem.room)):
        here = [item for item, at in enumerate(assignment) if at == node]
        comes = [item for item in here if packing.current[item] != node]
        load = problem.demand[problem.kind[here]].sum(axis=0)
        taken = problem.demand[problem.kind[comes]].sum(axis=0) > 0
        if (taken & (load > problem.room[node])).any():
            return False
    return True


@MANY
@given(message=device_snapshots(), data=st.data())
def test_whatever_the_weights_are_all_that_fits_the_devices_fits_the_relaxation(
    message: pb.Snapshot, data: st.DataObject
) -> None:
    """Else a bound could be below what is possible, and call a bad plan optimal."""
    packing = reduced_snapshot(message).packing
    assume(packing.bins is not None)

    relaxation = _relaxed(packing, data)

    assert relaxation.problem.bins is None
    assert not overcommitted(relaxation.problem)[:, packing.problem.demand.shape[1] :].any()
    for assignment in feasible_with_devices(message, packing):
        assert _fits(relaxation, assignment)


@pytest.mark.parametrize("policy", [Policy.STRICT, Policy.PAPER])
@MANY
@given(message=device_snapshots(), data=st.data())
def test_no_assignment_of_devices_beats_a_bound_of_the_relaxation(
    policy: Policy, message: pb.Snapshot, data: st.DataObject
) -> None:
    """All that proves anything is asked about the relaxation."""
    packing = reduced_snapshot(message).packing
    assume(packing.bins is not None)
    relaxation = _relaxed(packing, data)
    scores = {score(packing, one, policy) for one in feasible_with_devices(message, packing)}
    reached = data.draw(st.sampled_from(sorted(scores)))
    for tier in range(len(packing.tiers)):
        for phase in (Phase.PLACE, Phase.DISRUPT):
            question = Question(relaxation.problem, tier, phase, reached)
            best = best_number(scores, reached, tier, phase)
            bounds = [
                knapsack_bound(question, clock=lambda: 0.0, deadline=1.0),
                DualSearch(question, np.full(len(packing.current), -1), lambda: 0.0).run(1.0),
            ]
            first = aggregate_bound(question, lambda: 0.0, 1.0)
            for bound in (*bounds, None if first is None else first.bound):
                if bound is not None:
                    assert bound.value <= best if phase is Phase.DISRUPT else bound.value >= best


def test_shares_that_fit_no_device_together_are_not_bounded_by_sums() -> None:
    """By its sums a GPU and a half hold three pods of half a GPU and a bit; by its devices one each."""
    builder = (
        DeviceBuilder().node("n", *(shared(f"gpu-{at}") for at in range(4))).request("60", (1, {"gpu": {"units": 60}}))
    )
    for at in range(8):
        builder.pod(f"p{at}", "60")
    packing = reduced_snapshot(builder.message).packing

    relaxation = relaxed(packing, lambda: 0.0, 10.0)

    question = Question(relaxation.problem, 0, Phase.PLACE, score(packing, packing.current, Policy.STRICT))
    bound = DualSearch(question, np.full(8, -1), lambda: 0.0).run(1.0)
    assert bound is not None
    assert bound.value == 4
