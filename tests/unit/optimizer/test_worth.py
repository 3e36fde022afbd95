"""Pods that count for more or less than one, where placed pods are counted."""

import pytest
from certified_plans import reduced_snapshot
from made_packings import Item, packing_of
from made_snapshots import crowded_cluster
from snapshot_builder import SnapshotBuilder
from solving_in_process import answer_to, finished_answer_to

from stowage_optimizer.bounds.phase import Phase, Question
from stowage_optimizer.bounds.scope import all_placed
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.objective import TierScore
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.pod_class import LARGEST_WORTH
from stowage_optimizer.verify import verify_plan
from stowage_optimizer.verify.certificate import verify_certificates

EXACT = ["cpsat-aggregated", "lexicographic", "paper"]


def one_or_three() -> pb.Snapshot:
    """Return a node with room for a large pod or for three small ones, the large of which counts for four."""
    builder = SnapshotBuilder().node("n", cpu_milli=3)
    builder.pod_class("large", cpu_milli=3, worth=4)
    builder.pod("l", of="large")
    for name in "abc":
        builder.pod(name, cpu_milli=1)
    return builder.message


def placed(plan: pb.Plan) -> set[str]:
    return {one.pod_uid for one in plan.placements}


@pytest.mark.parametrize("strategy", EXACT)
def test_a_pod_that_counts_for_more_than_three_others_is_placed_instead_of_them(strategy: str) -> None:
    """Two gangs of GPU pods: the number of pods says nothing about the devices that are in use."""
    snapshot = one_or_three()

    plan = answer_to(snapshot, strategy=strategy).plan

    assert placed(plan) == {"l"}
    (tier,) = plan.tiers
    assert (tier.placed_before, tier.placed, tier.upper_bound, tier.optimal) == (0, 4, 4, True)
    assert verify_plan(snapshot, plan, pb.POLICY_STRICT) == []


@pytest.mark.parametrize("strategy", EXACT)
def test_no_running_pod_makes_way_for_one_of_its_priority_that_counts_for_more(strategy: str) -> None:
    """What a pod counts for is no priority: whoever runs keeps its node first."""
    snapshot = one_or_three()
    for pod in snapshot.pods:
        pod.node, pod.movable = ("n", True) if pod.uid != "l" else ("", False)

    plan = answer_to(snapshot, strategy=strategy).plan

    assert (len(plan.placements), len(plan.moves), len(plan.evictions)) == (0, 0, 0)
    assert plan.optimal


def test_a_plan_says_what_its_moves_gain_by_what_pods_count_for() -> None:
    """A limit on moves is chosen by the curve; its last point is the whole plan's number."""
    builder = SnapshotBuilder().node("n0", cpu_milli=4).node("n1", cpu_milli=4)
    builder.pod("r0", cpu_milli=1, node="n0").pod("r1", cpu_milli=1, node="n1")
    builder.pod_class("large", cpu_milli=4, worth=7)
    builder.pod("l", of="large").pod("s", cpu_milli=1)
    snapshot = builder.message
    asked = pb.SolveOptions(strategy="lexicographic", deterministic=True)

    plan = finished_answer_to(snapshot, asked).plan

    assert [(one.moves, one.placed) for one in plan.gain_by_moves][-1] == (1, 10)
    assert verify_plan(snapshot, plan, pb.POLICY_STRICT, asked) == []


@pytest.mark.parametrize("worth", [-1, LARGEST_WORTH + 1])
def test_a_pod_of_which_it_is_not_readable_what_it_counts_for_is_left_alone_and_counts_as_one(worth: int) -> None:
    """It is named as an unreadable class, and the numbers of the plan still add up for the checker."""
    snapshot = one_or_three()
    snapshot.pod_classes[0].worth = worth
    snapshot.pods[0].node = "n"

    answer = answer_to(snapshot, strategy="lexicographic")

    (refusal,) = answer.refusals
    assert refusal.subject == "class large"
    assert "worth" in refusal.detail
    assert answer.plan.tiers[0].placed_before == 1
    assert verify_plan(snapshot, answer.plan, pb.POLICY_STRICT) == []


def test_pods_that_all_count_for_one_are_answered_as_if_nothing_was_said() -> None:
    """Who says nothing about it is not to notice that others can."""
    silent, said = crowded_cluster(3), crowded_cluster(3)
    for one in said.pod_classes:
        one.worth = 1

    first, second = (
        answer_to(one, strategy="lexicographic", deterministic=True, time_limit_s=1.0).plan for one in (silent, said)
    )

    assert first == second


@pytest.mark.parametrize(("placed_for", "every"), [(2, False), (3, True)])
def test_as_much_as_there_are_pods_is_not_every_pod(placed_for: int, every: bool) -> None:
    """Where every pod has a node, an odd disruption cannot be: a limit is rounded up to the next even one then."""
    items = (Item("a", 0, (1,), (0,), 0, worth=2), Item("b", 0, (1,), (0,), None))
    problem = packing_of(("n",), ((2,),), items, (0,)).problem

    assert all_placed(Question(problem, 0, Phase.DISRUPT, (TierScore(1, placed_for, 0),))) is every


@pytest.mark.parametrize("worth", [100, LARGEST_WORTH])
def test_a_limit_is_confirmed_by_its_prices_also_where_pods_count_for_much(worth: int) -> None:
    """Prices are computed in whole numbers of 64 bits; what is too large must not become a false limit."""
    snapshot = crowded_cluster(1, priorities=1)
    for at, one in enumerate(snapshot.pod_classes):
        one.worth = worth - at

    reduced = reduced_snapshot(snapshot)
    best = answer_to(snapshot, strategy="lexicographic", deterministic=True, time_limit_s=1.0).plan

    for by_kind in (False, True):
        plan = reduced.plan(reduced.packing.current, Policy.STRICT, by_kind=by_kind)

        checked = verify_certificates(snapshot, plan, pb.POLICY_STRICT)
        assert checked.violations == ()
        assert checked.claims == 2
        assert best.tiers[0].placed <= plan.tiers[0].upper_bound <= reduced.packing.worth
