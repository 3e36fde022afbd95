"""Limits of snapshots with devices are proved by weights, which the checker judges by itself."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from certified_plans import ReducedSnapshot, reduced_snapshot
from device_builder import DeviceBuilder, shared
from device_cases import device_snapshots, feasible_with_devices
from examples import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from packing_oracle import at_least

from stowage_optimizer.bounds.device_weights import relaxed
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.objective import Score, score
from stowage_optimizer.model.options import Policy
from stowage_optimizer.verify.certificate import Checked, verify_certificates
from stowage_optimizer.verify.certificate.pods import claims

SLOW = examples(60)


@dataclass(frozen=True)
class _Planned:
    """A plan with prices for one of the assignments that devices allow."""

    reduced: ReducedSnapshot
    plan: pb.Plan
    reached: Score
    scores: set[Score]

    def check(self) -> Checked:
        return verify_certificates(self.reduced.message, self.plan, pb.POLICY_STRICT, self.reduced.left_alone)

    def best(self, priority: int, phase: pb.Phase) -> int:
        """Return the true optimum of a phase in the plan's numbers."""
        tier = self.reduced.packing.tiers.index(priority)
        places = phase == pb.PHASE_PLACE
        earlier = ("kept",) if places else ("kept", "placed")
        among = [one[tier] for one in self.scores if at_least(one, self.reached, tier, earlier)]
        if places:
            return self.reduced.staying(priority) + max(one.placed for one in among)
        return min(-one.stability for one in among)


def _planned(message: pb.Snapshot, data: st.DataObject, *, by_kind: bool = False) -> _Planned:
    reduced = reduced_snapshot(message)
    assume(reduced.packing.bins is not None)
    reduced = replace(reduced, relaxed=relaxed(reduced.packing, lambda: 0.0, data.draw(st.sampled_from([10.0, -1.0]))))
    packing = reduced.packing
    scored = {one: score(packing, one, Policy.STRICT) for one in feasible_with_devices(message, packing)}
    assignment = data.draw(st.sampled_from(list(scored)))
    plan = reduced.plan(assignment, Policy.STRICT, by_kind=by_kind)
    return _Planned(reduced, plan, scored[assignment], set(scored.values()))


@pytest.mark.parametrize("by_kind", [False, True])
@SLOW
@given(message=device_snapshots(), data=st.data())
def test_weights_of_devices_confirm_what_they_prove(by_kind: bool, message: pb.Snapshot, data: st.DataObject) -> None:
    """Prover and checker share no code, so they agree only if both are right."""
    planned = _planned(message, data, by_kind=by_kind)

    checked = planned.check()

    assert checked.violations == ()
    assert checked.claims == sum(1 for _ in claims(planned.plan))


@SLOW
@given(message=device_snapshots(), data=st.data())
def test_whatever_weights_are_named_no_false_limit_is_confirmed(message: pb.Snapshot, data: st.DataObject) -> None:
    """A certificate convinces by itself, so forged weights must prove something true."""
    planned = _planned(message, data)
    names = [one.id for one in message.device_requests]
    weight = st.sampled_from([0, 1, 2**20, 2**21]) | st.integers(0, 2**21)
    forged = data.draw(st.lists(st.dictionaries(st.sampled_from(names), weight, max_size=4), min_size=1, max_size=3))
    for claim in claims(planned.plan):
        del claim.dual.device_weights[:]
        claim.dual.device_weights.extend(pb.DeviceWeights(weights=one) for one in forged)
    for tier in planned.plan.tiers:
        if tier.place.HasField("dual_bound"):
            tier.upper_bound -= data.draw(st.integers(0, 2))

    refused = {violation.subject for violation in planned.check().violations}

    for one in claims(planned.plan):
        over = one.bound - planned.best(one.priority, one.phase)
        holds = over >= 0 if one.phase == pb.PHASE_PLACE else over <= 0
        assert holds or one.name in refused


@SLOW
@given(message=device_snapshots(), data=st.data())
def test_a_limit_beyond_what_devices_allow_is_refused(message: pb.Snapshot, data: st.DataObject) -> None:
    """One pod less or one move more than the truth is the worst thing to certify."""
    planned = _planned(message, data)
    for tier in planned.plan.tiers:
        if tier.place.HasField("dual_bound"):
            tier.upper_bound = planned.best(tier.priority, pb.PHASE_PLACE) - 1
        if tier.disrupt.HasField("dual_bound"):
            tier.disruption_lower_bound = planned.best(tier.priority, pb.PHASE_DISRUPT) + 1

    refused = {violation.subject for violation in planned.check().violations}

    assert refused == {claim.name for claim in claims(planned.plan)}


def _four_gpus() -> pb.Snapshot:
    """Return four GPUs, and eight pods that ask for more than half of one."""
    builder = DeviceBuilder().node("n", *(shared(f"gpu-{at}") for at in range(4)))
    builder.request("60", (1, {"gpu": {"units": 60}}))
    for at in range(8):
        builder.pod(f"p{at}", "60")
    return builder.message


def _certified(message: pb.Snapshot) -> pb.Plan:
    reduced = reduced_snapshot(message)
    reduced = replace(reduced, relaxed=relaxed(reduced.packing, lambda: 0.0, 10.0))
    return reduced.plan((0,) * 4 + (None,) * 4, Policy.STRICT)


def _refusals(change: Callable[[pb.DualBound], object]) -> list[str]:
    message = _four_gpus()
    plan = _certified(message)
    assert plan.tiers[0].upper_bound == 4
    change(plan.tiers[0].place.dual_bound)
    checked = verify_certificates(message, plan, pb.POLICY_STRICT)
    return [one.detail for one in checked.violations if one.subject == "0/PHASE_PLACE"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param(lambda _: None, [], id="as it is"),
        pytest.param(
            lambda dual: dual.device_weights[0].weights.update({"60": -1}),
            ["the weight of 60 is -1, not in 0..1099511627776"], id="negative",
        ),
        pytest.param(
            lambda dual: dual.device_weights[0].weights.update({"60": 2**41}),
            ["the weight of 60 is 2199023255552, not in 0..1099511627776"], id="too large",
        ),
        pytest.param(
            lambda dual: dual.device_weights[0].weights.update(x=1), ["unknown device request x"], id="unknown",
        ),
        pytest.param(
            lambda dual: dual.device_weights.extend([dual.device_weights[0]] * 16),
            ["there are 17 weights of devices, more than 16"], id="too many",
        ),
        pytest.param(
            lambda dual: dual.ClearField("device_weights"), ["claims 4, its prices prove 8"], id="none",
        ),
    ],
)  # fmt: skip
def test_weights_that_prove_nothing_are_told(change: Callable[[pb.DualBound], object], told: list[str]) -> None:
    """By weights below 0 a pod would give a node more room, and an unknown request's say nothing."""
    assert _refusals(change) == told
