"""Every number of a certificate, one more and one less."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from certified_plans import ReducedSnapshot, reduced_snapshot
from snapshot_builder import SnapshotBuilder, figure_1

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Assignment
from stowage_optimizer.verify.certificate import verify_certificates
from stowage_optimizer.verify.certificate.pods import Claim, claims

Case = tuple[ReducedSnapshot, Assignment]
Change = Callable[[int], None]


def moved() -> Case:
    """Return figure 1: a pod moves, so that the large one fits."""
    return reduced_snapshot(figure_1()), (1, 1, 0)


def two_tiers() -> Case:
    """Return two full nodes; who waits is of the lower priority."""
    builder = SnapshotBuilder()
    builder.node("n1", cpu_milli=5).node("n2", cpu_milli=5)
    builder.pod("high", cpu_milli=3, priority=1, node="n1")
    builder.pod("upper", cpu_milli=4, priority=1)
    builder.pod("run", cpu_milli=2, node="n1").pod("wait", cpu_milli=2)
    builder.pod("fixed", cpu_milli=1, node="n2", movable=False)
    return reduced_snapshot(builder.message), (0, 1, 0, None)


def one_port() -> Case:
    """Return two roomy nodes, and one pod too many that listens on a port."""
    builder = SnapshotBuilder().node("n1").node("n2")
    one = builder.pod_class("web")
    one.host_ports.add(port=80)
    builder.pod("a", of="web", node="n1").pod("b", of="web").pod("c", of="web")
    return reduced_snapshot(builder.message), (0, 1, None)


def apart() -> Case:
    """Return a pod that shares its node with no other, on one of two nodes."""
    builder = SnapshotBuilder()
    for name in ("n1", "n2"):
        builder.node(name, labels={"host": name})
    one = builder.pod_class("quiet")
    one.required_pod_anti_affinity.add(
        topology_key="host", label_selector=pb.LabelSelector()
    )
    builder.pod("q1", of="quiet", node="n1").pod("p").pod("q2", of="quiet")
    return reduced_snapshot(builder.message), (0, 1, None)


CASES = [moved, two_tiers, one_port, apart]


@pytest.mark.parametrize("case", CASES)
def test_each_limit_is_confirmed_and_the_next_one_is_not(
    case: Callable[[], Case],
) -> None:
    """Each plan reaches its limits: one better is false, one worse is true too."""
    plan = _plan(case)
    assert sum(1 for _ in claims(plan)) >= 2
    assert _refused(case, plan) == set()

    for claim in claims(plan):
        _tighten(plan, claim, 1)
        assert _refused(case, plan) == {claim.name}
        _tighten(plan, claim, -2)
        if claim.limit > 0 or claim.phase == pb.PHASE_PLACE:
            assert _refused(case, plan) == set()
        _tighten(plan, claim, 1)


@pytest.mark.parametrize("by", [-1, 1])
@pytest.mark.parametrize("case", CASES)
def test_no_price_that_is_off_by_one_proves_what_is_false(
    case: Callable[[], Case], by: int
) -> None:
    """It is refused, or it still proves no more than what is true."""
    plan = _plan(case)
    for claim in claims(plan):
        _tighten(plan, claim, 1)
    count = sum(1 for claim in claims(plan) for _ in _numbers(claim.dual))
    assert count >= 4

    for at in range(count):
        altered = pb.Plan.FromString(plan.SerializeToString())
        every = [n for claim in claims(altered) for n in _numbers(claim.dual)]
        every[at](by)
        names = {claim.name for claim in claims(altered)}
        assert _refused(case, altered) == names


def _plan(case: Callable[[], Case]) -> pb.Plan:
    reduced, assignment = case()
    return reduced.plan(assignment, Policy.STRICT)


def _refused(case: Callable[[], Case], plan: pb.Plan) -> set[str]:
    checked = verify_certificates(case()[0].message, plan, pb.POLICY_STRICT)
    return {one.subject for one in checked.violations}


def _tighten(plan: pb.Plan, claim: Claim, by: int) -> None:
    tier = next(one for one in plan.tiers if one.priority == claim.priority)
    if claim.phase == pb.PHASE_PLACE:
        tier.upper_bound -= by
    else:
        tier.disruption_lower_bound += by


def _numbers(dual: pb.DualBound) -> Iterator[Change]:
    """Yield a change of each number."""

    def change(message: object, name: str) -> Change:
        return lambda by: setattr(message, name, getattr(message, name) + by)

    yield change(dual, "scale")
    for pod in dual.pods:
        yield change(pod, "pod")
        yield change(pod, "run")
    for requirement in dual.requirements:
        yield change(requirement, "price")
        yield change(requirement, "priority")
