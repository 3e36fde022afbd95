"""Pods tied by budgets, limits and demands: what moves, and what may be claimed."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from snapshot_builder import SnapshotBuilder
from solving_in_process import budget_of, decoded, finished_answer_to

from stowage_optimizer.assignments.incumbent import SolutionWriter
from stowage_optimizer.bounds.proofs import trivial_bounds
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.budget import Budget
from stowage_optimizer.model.encode import encode_plan
from stowage_optimizer.model.options import SolveOptions
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.solution import NodesInUse, Publish, Solution
from stowage_optimizer.stages import pipeline
from stowage_optimizer.verify import verify_plan

WEB = pb.LabelSelector(match_labels={"app": "web"})
MOVING = ("lexicographic", "paper", "cpsat-aggregated", "milp", "portfolio")


def budget_over_web(builder: SnapshotBuilder, allowed: int) -> None:
    builder.message.disruption_budgets.add(
        namespace="default", name="web", selector=WEB, disruptions_allowed=allowed
    )


def two_replicas(*names: str) -> SnapshotBuilder:
    """Return a replica on each of two nodes; a large pod needs the second node."""
    builder = SnapshotBuilder().node("small", cpu_milli=4).node("large", cpu_milli=6)
    builder.pod_class("web", cpu_milli=2).labels["app"] = "web"
    for name, node in zip(names, ("small", "large"), strict=True):
        builder.pod(name, of="web", node=node)
    builder.pod("wide", cpu_milli=6)
    budget_over_web(builder, 1)
    return builder


@pytest.mark.parametrize("strategy", MOVING)
@pytest.mark.parametrize("names", [("a", "z"), ("z", "a")])
def test_the_pod_of_a_budget_that_is_in_the_way_is_the_one_that_goes(
    names: tuple[str, str], strategy: str
) -> None:
    """Whichever it is called, and whichever is the cheapest."""
    snapshot = two_replicas(*names).message
    snapshot.pods[1].deletion_cost, snapshot.pods[1].age_s = 100, 100

    plan = finished_answer_to(snapshot, pb.SolveOptions(strategy=strategy)).plan

    assert [(one.pod_uid, one.to_node) for one in plan.moves] == [(names[1], "small")]
    assert plan.optimal
    assert [(one.moves, one.placed) for one in plan.gain_by_moves] == [(0, 2), (1, 3)]


def test_a_budget_that_no_plan_can_keep_to_is_why_a_pod_waits_and_that_is_proved() -> (
    None
):
    """Without the budget two moves would do; the limit is of plans that keep to it."""
    builder = SnapshotBuilder().node("one", cpu_milli=4).node("other", cpu_milli=4)
    builder.pod_class("web", cpu_milli=2).labels["app"] = "web"
    builder.pod("a", of="web", node="one").pod("b", of="web", node="one")
    builder.pod("wide", cpu_milli=4)
    builder.message.forbidden_pairs.add(class_id="class-wide", node="other")
    budget_over_web(builder, 1)

    plan = finished_answer_to(builder.message, pb.SolveOptions()).plan

    (tier,) = plan.tiers
    assert (tier.placed, tier.upper_bound, tier.optimal) == (2, 2, True)
    assert tier.place.method == pb.PROOF_METHOD_CP_SAT


def test_pods_of_lower_priority_count_too_where_a_budget_holds_them() -> None:
    """Both would have to go for the large pod, and only one may."""
    builder = SnapshotBuilder().node("n", cpu_milli=4)
    builder.pod_class("web", cpu_milli=2).labels["app"] = "web"
    builder.pod("a", of="web", node="n").pod("b", of="web", node="n")
    builder.pod("urgent", cpu_milli=2, priority=9).pod("wide", cpu_milli=4, priority=9)
    budget_over_web(builder, 1)

    plan = finished_answer_to(builder.message, pb.SolveOptions()).plan

    assert [one.pod_uid for one in plan.placements] == ["urgent"]
    assert len(plan.evictions) == 1
    assert plan.optimal
    assert verify_plan(builder.message, plan, pb.POLICY_STRICT) == []


def test_a_budget_is_kept_to_where_nodes_are_emptied() -> None:
    """Two pods would have to move, and that they may not is part of the proof."""
    builder = SnapshotBuilder().node("one", cpu_milli=4).node("other", cpu_milli=4)
    builder.pod_class("web", cpu_milli=1).labels["app"] = "web"
    for name, node in {"a": "one", "b": "one", "c": "other", "d": "other"}.items():
        builder.pod(name, of="web", node=node)
    asked = pb.SolveOptions(objective=pb.OBJECTIVE_CONSOLIDATE)
    assert finished_answer_to(builder.message, asked).plan.nodes_in_use.after == 1
    budget_over_web(builder, 1)

    answer = finished_answer_to(builder.message, asked)

    assert answer.solution.empty
    assert answer.solution.nodes_in_use == NodesInUse(2, 2, 2, 0)


def spread_web(builder: SnapshotBuilder) -> SnapshotBuilder:
    """Add nodes a and b in zone x, c in zone y, and a class spread over them."""
    for name, zone in {"a": "x", "b": "x", "c": "y"}.items():
        builder.node(name, cpu_milli=4, labels={"zone": zone})
    one = builder.pod_class("web", cpu_milli=2)
    one.labels["app"] = "web"
    one.topology_spread.add(
        max_skew=1,
        topology_key="zone",
        when_unsatisfiable="DoNotSchedule",
        label_selector=WEB,
    )
    return builder


def test_that_pods_with_demands_stay_is_no_limit_on_nodes_in_use() -> None:
    """They are left where they are; a plan that moved them might empty more."""
    builder = spread_web(SnapshotBuilder())
    builder.pod("w", of="web", node="a").pod("plain", cpu_milli=2, node="b")

    answer = finished_answer_to(
        builder.message, pb.SolveOptions(objective=pb.OBJECTIVE_CONSOLIDATE)
    )

    assert answer.solution.nodes_in_use == NodesInUse(2, 1, 1, 1)


@dataclass(frozen=True)
class FindsNothing:
    """A strategy that has run out of time."""

    def solve(self, packing: Packing, budget: Budget, publish: Publish) -> Solution:
        """Return what there is."""
        del publish
        writer = SolutionWriter(packing, budget.policy)
        return writer.write(packing.current, trivial_bounds(packing))


def two_that_fit() -> pb.Snapshot:
    """Return two waiting pods with demands that fit as things are, and one without."""
    builder = spread_web(SnapshotBuilder())
    return builder.pod("w0", of="web").pod("w1", of="web").pod("plain").message


@pytest.mark.parametrize("hurried", [False, True])
def test_what_fits_as_things_are_is_placed_whatever_a_strategy_finds(
    hurried: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No stage makes an answer worse than the scheduler would do by itself."""
    if hurried:
        monkeypatch.setattr(pipeline, "MOVED_PER_S", 0)
    seen: list[Solution] = []
    budget = budget_of(SolveOptions(time_limit_s=5.0))

    packings = pipeline.Packings(decoded(two_that_fit()))
    found = pipeline.solve(FindsNothing(), packings, budget, seen.append)

    assert len(encode_plan(found).placements) == 3
    assert any(len(encode_plan(one).placements) == 3 for one in seen)


def in_the_way() -> pb.Snapshot:
    """Return a large pod that fits on a if the pod with demands there goes to b."""
    builder = spread_web(SnapshotBuilder())
    builder.pod("w", of="web", node="a")
    builder.pod("plain", cpu_milli=2, node="b", movable=False)
    builder.pod("other", cpu_milli=4, node="c", movable=False)
    return builder.pod("wide", cpu_milli=4).message


def test_in_a_hurry_pods_with_demands_stay_and_nothing_is_called_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That they were left out is nothing that the cluster demands."""
    monkeypatch.setattr(pipeline, "MOVED_PER_S", 0)
    seen: list[Solution] = []

    answer = finished_answer_to(
        in_the_way(), pb.SolveOptions(time_limit_s=5.0), published=seen
    )

    (tier,) = answer.plan.tiers
    assert (tier.placed, tier.upper_bound, tier.optimal) == (3, 4, False)
    assert not any(one.optimal for one in seen)


def test_repairs_that_would_take_too_long_are_not_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A longer limit must not choose the stage that cannot keep its promise."""
    packings = pipeline.Packings(decoded(in_the_way()))
    budget = budget_of(SolveOptions(time_limit_s=60.0))
    assert not packings.hurried(budget)

    monkeypatch.setattr(pipeline, "repairing_s", lambda _packing: 30.0)

    assert packings.hurried(budget)


def test_the_curve_says_what_fits_without_a_move() -> None:
    """Who pays for moves wants to know what they buy."""
    snapshot = in_the_way()
    snapshot.pods.add(
        uid="tiny", name="tiny", namespace="default", class_id="class-tiny"
    )
    snapshot.pod_classes.add(id="class-tiny", namespace="default")

    plan = finished_answer_to(snapshot, pb.SolveOptions()).plan

    assert [(one.moves, one.placed) for one in plan.gain_by_moves] == [(0, 4), (1, 5)]
