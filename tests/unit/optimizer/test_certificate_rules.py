"""What the checker of certificates refuses to look at, one thing at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from certified_plans import reduced_snapshot
from snapshot_builder import SnapshotBuilder

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.options import Policy
from stowage_optimizer.verify.certificate import verify_certificates

Change = Callable[[pb.DualBound], object]


def _case() -> tuple[pb.Snapshot, pb.Plan]:
    """Return two tiers on two nodes, both full, with a priced limit for each."""
    builder = SnapshotBuilder()
    builder.node("n1", cpu_milli=5).node("n2", cpu_milli=5)
    builder.pod("high", cpu_milli=3, priority=1, node="n1")
    builder.pod("upper", cpu_milli=4, priority=1)
    builder.pod("run", cpu_milli=2, node="n1")
    builder.pod("wait", cpu_milli=2).pod("late", cpu_milli=2)
    builder.pod("fixed", cpu_milli=1, node="n2", movable=False)
    reduced = reduced_snapshot(builder.message)
    return reduced.message, reduced.plan((0, 1, 0, None, None), Policy.STRICT)


def _refusal(change: Change) -> str:
    """Return what is said of the lower tier's limit on pods placed."""
    snapshot, plan = _case()
    dual = plan.tiers[-1].place.dual_bound
    assert dual.pods
    change(dual)
    checked = verify_certificates(snapshot, plan, pb.POLICY_STRICT)
    return "\n".join(str(one) for one in checked.violations)


def _require(priority: int, phase: pb.Phase, price: int) -> Change:
    return lambda dual: dual.requirements.add(
        priority=priority, phase=phase, price=price
    )


def test_the_case_itself_is_confirmed() -> None:
    """Otherwise the refusals below would prove nothing."""
    assert _refusal(lambda dual: None) == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda dual: setattr(dual.pods[0], "pod", -1), "is negative"),
        (lambda dual: setattr(dual.pods[0], "run", -1), "is negative"),
        (_require(1, pb.PHASE_PLACE, -1), "is negative"),
        (_require(0, pb.PHASE_PLACE, 1), "not settled before"),
        (_require(0, pb.PHASE_DISRUPT, 1), "not settled before"),
        (_require(-1, pb.PHASE_PLACE, 1), "there is no tier -1"),
        (lambda dual: setattr(dual, "scale", 0), "scale is not positive"),
        (lambda dual: dual.pods[0].pod_uids.append("nobody"), "unknown pod"),
        (lambda dual: dual.pods.add(pod_uids=["wait"]), "priced 2 times"),
        (lambda dual: dual.pods.add(pod_uids=["fixed"]), "stays in any case"),
        (lambda dual: dual.pods.add(pod_uids=["high"]), "stays in any case"),
        (
            lambda dual: dual.pods.add(pod_uids=["late", "upper"]),
            "are not equal",
        ),
    ],
)
def test_prices_that_may_not_be_are_refused(change: Change, said: str) -> None:
    """Each of these would let prices prove what is not true."""
    assert said in _refusal(change)


def test_what_only_the_strict_policy_keeps_is_no_ground_under_the_papers() -> None:
    """Under the paper's policy a plan may trade running pods of one priority."""
    snapshot, plan = _case()
    plan.tiers[-1].place.dual_bound.requirements.add(
        priority=0, phase=pb.PHASE_KEEP, price=1
    )

    checked = verify_certificates(snapshot, plan, pb.POLICY_PAPER)

    assert "strict policy only" in str(checked.violations[-1])


def test_pods_of_refused_classes_do_not_count() -> None:
    """A strategy that leaves a class alone states its limits without it."""
    builder = SnapshotBuilder()
    builder.node("n1", cpu_milli=5).pod("wait", cpu_milli=2)
    builder.pod_class("refused", cpu_milli=2).unsupported.append("volumes")
    builder.pod("late", of="refused")
    reduced = reduced_snapshot(builder.message)
    plan = reduced.plan((0,), Policy.STRICT)
    assert plan.tiers[0].upper_bound == 1

    unaware = verify_certificates(reduced.message, plan, pb.POLICY_STRICT)
    aware = verify_certificates(reduced.message, plan, pb.POLICY_STRICT, {"refused"})

    assert "claims 1, its prices prove 2" in str(unaware.violations[0])
    assert not aware.violations


def test_whom_a_budget_holds_stays_where_they_are() -> None:
    """No plan may disrupt them, so that nothing need be said of their prices."""
    builder = SnapshotBuilder()
    builder.node("n1", cpu_milli=3).pod("run", cpu_milli=3, node="n1")
    builder.pod("wait", cpu_milli=1).pod("late", cpu_milli=1)
    builder.message.disruption_budgets.add(
        namespace="default", name="all", selector=pb.LabelSelector()
    )
    reduced = reduced_snapshot(builder.message)
    plan = reduced.plan((None, None), Policy.STRICT)
    assert plan.tiers[0].upper_bound == 1
    assert "run" not in {
        uid for one in plan.tiers[0].place.dual_bound.pods for uid in one.pod_uids
    }

    assert not verify_certificates(reduced.message, plan, pb.POLICY_STRICT).violations

    del reduced.message.disruption_budgets[:]
    freed = verify_certificates(reduced.message, plan, pb.POLICY_STRICT)
    assert "its prices prove" in str(freed.violations[0])


def test_of_a_budget_that_spares_some_pods_those_without_a_price_stay() -> None:
    """The answer says so by name, and its limits are of what is left to decide."""
    builder = SnapshotBuilder().node("n1", cpu_milli=4).node("n2", cpu_milli=1)
    builder.pod_class("web", cpu_milli=2)
    builder.pod("a", of="web", node="n1").pod("b", of="web", node="n1")
    builder.pod("large", cpu_milli=4, priority=1)
    builder.message.disruption_budgets.add(
        namespace="default",
        name="web",
        selector=pb.LabelSelector(),
        disruptions_allowed=1,
    )
    reduced = reduced_snapshot(builder.message)
    plan = reduced.plan((0, None), Policy.STRICT)
    assert reduced.left_alone == {"budget default/web"}
    assert plan.tiers[0].upper_bound == 0

    unaware = verify_certificates(reduced.message, plan, pb.POLICY_STRICT)
    aware = verify_certificates(
        reduced.message, plan, pb.POLICY_STRICT, reduced.left_alone
    )

    assert "claims 0, its prices prove 1" in str(unaware.violations[0])
    assert not aware.violations
