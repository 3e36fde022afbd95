"""Among equal plans, the one that pods prefer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from random import Random

import pytest
from brute_force import Where, outcome, value_of
from preference_snapshots import preference_value, with_preferences
from snapshot_builder import SnapshotBuilder
from solving_in_process import budget_of, decoded, finished_answer_to

from benchmarks.agreement.related_pods import crowded_pods
from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.options import SolveOptions
from stowage_optimizer.model.solution import Solution
from stowage_optimizer.stages import pipeline
from stowage_optimizer.stages.preferring import Prefer
from stowage_optimizer.verify import verify_plan

ASKED = pb.SolveOptions(strategy="cpsat-aggregated", seed=1, deterministic=True)


def pods_with_preferences(seed: int, *, demanding: bool) -> pb.Snapshot:
    """Return waiting pods with preferences and room for some of them."""
    rng = Random(seed)  # noqa: S311
    snapshot = crowded_pods(rng, waiting=5)
    for one in snapshot.pod_classes:
        if not demanding:
            del one.required_pod_affinity[:]
            del one.required_pod_anti_affinity[:]
            del one.topology_spread[:]
    return with_preferences(snapshot, rng)


def neighbours(snapshot: pb.Snapshot, plan: pb.Plan) -> Iterator[pb.Plan]:
    """Yield the plan with one pod going elsewhere, or two having changed places."""
    where = outcome(snapshot, plan)
    arrivals = [one.pod_uid for one in plan.placements]
    arrivals += [one.pod_uid for one in plan.moves]
    for uid in arrivals:
        for node in snapshot.nodes:
            yield redirected(plan, {**where, uid: node.name})
    for one, other in combinations(arrivals, 2):
        yield redirected(plan, {**where, one: where[other], other: where[one]})


def redirected(plan: pb.Plan, where: Where) -> pb.Plan:
    changed = pb.Plan()
    changed.CopyFrom(plan)
    for placement in changed.placements:
        placement.node = where[placement.pod_uid]
    for move in changed.moves:
        move.to_node = where[move.pod_uid]
    return changed


@pytest.mark.parametrize("demanding", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_no_pod_that_goes_elsewhere_would_be_better_for_all(
    seed: int, demanding: bool
) -> None:
    """Nor two that change places; the checker says which of these plans are good."""
    snapshot = pods_with_preferences(seed, demanding=demanding)

    plan = finished_answer_to(snapshot, ASKED).plan

    assert verify_plan(snapshot, plan, pb.POLICY_STRICT) == []
    mine = preference_value(snapshot, outcome(snapshot, plan))
    for other in neighbours(snapshot, plan):
        if preference_value(snapshot, outcome(snapshot, other)) > mine:
            assert verify_plan(snapshot, other, pb.POLICY_STRICT) != []


def test_preferences_change_nothing_that_a_plan_is_worth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Same pods placed, moved and evicted, and the same claims; only nodes differ."""
    gained = 0
    for seed in range(30):
        snapshot = pods_with_preferences(seed, demanding=bool(seed % 2))
        plan = finished_answer_to(snapshot, ASKED).plan
        with monkeypatch.context() as patched:
            patched.setattr(pipeline, "has_preferences", lambda _snapshot: False)
            found = finished_answer_to(snapshot, ASKED).plan

        assert _placed(plan) == _placed(found)
        assert _moved(plan) == _moved(found)
        assert plan.evictions == found.evictions
        assert plan.tiers == found.tiers
        where, before = outcome(snapshot, plan), outcome(snapshot, found)
        assert value_of(snapshot, where, pb.POLICY_STRICT) == value_of(
            snapshot, before, pb.POLICY_STRICT
        )
        gain = preference_value(snapshot, where) - preference_value(snapshot, before)
        assert gain >= 0
        gained += gain > 0
    assert gained > 5


def _placed(plan: pb.Plan) -> set[str]:
    return {one.pod_uid for one in plan.placements}


def _moved(plan: pb.Plan) -> set[str]:
    return {one.pod_uid for one in plan.moves}


def nodes_for(*pods: tuple[str, str, str], weight: int) -> dict[str, str]:
    """Return where a plan places pods, each given by name, class and node it runs on.

    Node ``b`` has the disk that the class ``picky`` prefers; each takes two pods.
    """
    builder = SnapshotBuilder()
    builder.node("a", cpu_milli=2).node("b", cpu_milli=2, labels={"disk": "ssd"})
    builder.pod_class("plain", cpu_milli=2)
    picky = builder.pod_class("picky", cpu_milli=1)
    term = picky.preferred_node_affinity.add(weight=weight)
    term.term.match_expressions.add(key="disk", operator="Exists")
    for name, of, node in pods:
        builder.pod(name, of=of, node=node)
    plan = finished_answer_to(builder.message, ASKED).plan
    assert not plan.moves
    return {one.pod_uid: one.node for one in plan.placements}


def test_a_pod_goes_where_it_would_rather_be() -> None:
    """A preference is no demand: the second pod takes what room is left."""
    nodes = nodes_for(("plain", "plain", ""), ("picky", "picky", ""), weight=1)

    assert nodes == {"plain": "a", "picky": "b"}


def test_no_pod_is_moved_for_a_preference() -> None:
    """Moves are counted before preferences are."""
    nodes = nodes_for(("stays", "picky", "a"), ("comes", "picky", ""), weight=100)

    assert nodes == {"comes": "b"}


def test_no_pod_is_left_evicted_for_a_preference() -> None:
    """Making room on the preferred node would be another plan."""
    builder = SnapshotBuilder()
    builder.node("a", cpu_milli=2, labels={"disk": "hdd"}).node("b", cpu_milli=2)
    builder.pod_class("low", cpu_milli=2).node_selector["disk"] = "hdd"
    one = builder.pod_class("high", cpu_milli=2, priority=1)
    term = one.preferred_node_affinity.add(weight=1)
    term.term.match_expressions.add(key="disk", operator="DoesNotExist")
    builder.pod("low", of="low", node="a").pod("high", of="high")
    packing = reduce_snapshot(decoded(builder.message), relations=True)
    solution = Solution(packing, (None, 0))

    stage, budget = Prefer(packing), budget_of(SolveOptions())

    assert stage.improve(solution, budget, lambda _found: None) == solution
