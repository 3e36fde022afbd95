"""Pods with relations, placed in addition to any plan."""

from __future__ import annotations

from random import Random

import pytest
from brute_force import Where, feasible
from packing_oracle import items_of
from snapshot_builder import SnapshotBuilder
from solving_in_process import Answer, decoded, finished_answer_to

from stowage_optimizer.assignments.incumbent import SolutionWriter
from stowage_optimizer.assignments.repair import make_whole
from stowage_optimizer.bounds.proofs import trivial_bounds
from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.encode import encode_plan
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.programs.counts import CountFormulation
from stowage_optimizer.programs.program import Row, total
from stowage_optimizer.programs.relations import RelatedFormulation, by_class
from stowage_optimizer.verify import verify_plan
from tests.differential.related_pods import crowded_pods

CASES = 100
STRICT = pb.POLICY_STRICT


def answer_to(snapshot: pb.Snapshot, time_limit_s: float = 5.0) -> Answer:
    asked = pb.SolveOptions(strategy="first-fit-decreasing", time_limit_s=time_limit_s)
    return finished_answer_to(snapshot, asked)


def test_what_is_placed_beside_a_plan_passes_the_checker() -> None:
    """The checker goes through the arrivals by itself, in its own code (R12)."""
    for seed in range(CASES):
        snapshot = crowded_pods(Random(seed))  # noqa: S311

        plan = answer_to(snapshot).plan

        assert (seed, verify_plan(snapshot, plan, STRICT)) == (seed, [])


@pytest.mark.parametrize("policy", [Policy.STRICT, Policy.PAPER])
def test_any_proposal_becomes_a_plan_that_keeps_every_relation(policy: Policy) -> None:
    """Strategies may propose what they like; moves and evictions are settled too."""
    asked = pb.POLICY_STRICT if policy is Policy.STRICT else pb.POLICY_PAPER
    for seed in range(CASES):
        rng = Random(seed)  # noqa: S311
        snapshot = crowded_pods(rng)
        packing = reduce_snapshot(decoded(snapshot), relations=True)
        proposal: Assignment = tuple(
            rng.choice([None, item.home, *item.eligible]) for item in items_of(packing)
        )

        whole = make_whole(packing, proposal, policy)

        solution = SolutionWriter(packing, policy).write(whole, trivial_bounds(packing))
        found = verify_plan(snapshot, encode_plan(solution), asked)
        # A proposal may move pods for nothing; its worth is not checked here.
        broken = {one.rule for one in found} - {"worth", "policy"}
        assert (seed, broken) == (seed, set())


def spread_over_zones(pods: int) -> SnapshotBuilder:
    """Return nodes in two zones, and waiting pods that are to be spread over them."""
    builder = SnapshotBuilder()
    for name, zone in {"a": "x", "b": "x", "c": "y"}.items():
        builder.node(name, labels={"zone": zone}, pods=3)
    one = builder.pod_class("web")
    one.labels["app"] = "web"
    one.topology_spread.add(
        max_skew=1,
        topology_key="zone",
        when_unsatisfiable="DoNotSchedule",
        label_selector=pb.LabelSelector(match_labels={"app": "web"}),
    )
    for index in range(pods):
        builder.pod(f"p{index}", of="web")
    return builder


@pytest.mark.parametrize(("room", "placed"), [(3, 4), (1, 3)])
def test_replicas_are_spread_evenly_and_the_answer_is_known_to_be_best(
    room: int, placed: int
) -> None:
    """Where zone y has room for one, a third pod in zone x would be one too many."""
    builder = spread_over_zones(pods=4)
    builder.message.nodes[2].allocatable.pods = room

    plan = answer_to(builder.message).plan

    in_y = sum(one.node == "c" for one in plan.placements)
    assert (len(plan.placements), in_y) == (placed, placed - 2)
    assert plan.tiers[0].upper_bound == placed
    assert plan.optimal
    assert verify_plan(builder.message, plan, STRICT) == []


def test_where_there_is_no_time_for_them_such_pods_wait() -> None:
    """The answer is there within the limit, whatever it leaves undone."""
    builder = spread_over_zones(pods=4)

    answer = answer_to(builder.message, time_limit_s=1e-6)

    assert answer.solution.empty
    assert [one.reason for one in answer.refusals] == ["topology-spread"]


def test_counted_work_gives_the_same_plan_again() -> None:
    """Domains are drawn from the seed, and no clock says how many rounds there are."""
    asked = pb.SolveOptions(strategy="cpsat-aggregated", seed=1, deterministic=True)
    for seed in range(5):
        snapshot = crowded_pods(Random(seed))  # noqa: S311

        one, other = (finished_answer_to(snapshot, asked).plan for _ in range(2))

        assert one == other


TRIES = 150


def roomy(seed: int) -> pb.Snapshot:
    """Return pods with demands, and room for all of them."""
    snapshot = crowded_pods(Random(seed), waiting=3)  # noqa: S311
    for node in snapshot.nodes:
        node.allocatable.pods = 20
    return snapshot


def anywhere(snapshot: pb.Snapshot, rng: Random) -> Where:
    names = ["", *(node.name for node in snapshot.nodes)]
    return {
        pod.uid: pod.node
        if pod.node and (not pod.movable or rng.randrange(2))
        else rng.choice(names)
        for pod in snapshot.pods
    }


def as_assignment(packing: Packing, where: Where) -> Assignment:
    number = {name: node for node, name in enumerate(packing.node_names)}
    return tuple(number.get(where[item.pod_uid]) for item in items_of(packing))


def unmet(packing: Packing, assignment: Assignment, tiers: int) -> list[Row]:
    """Return which of the rows about relations ``assignment`` does not meet."""
    formulation = RelatedFormulation(packing, tiers)
    values = formulation.values(assignment)
    others = len(CountFormulation(by_class(packing)[0], tiers).program.rows)
    return [
        row
        for row in formulation.program.rows[others:]
        if total(row.terms, values) > row.upper
    ]


@pytest.mark.parametrize("first", range(0, 30, 10))
def test_whatever_can_be_carried_out_meets_the_rows(first: int) -> None:
    """The checker, which shares no code with the rows, says what can be."""
    for seed in range(first, first + 10):
        rng, snapshot = Random(seed), roomy(seed)  # noqa: S311
        packing = reduce_snapshot(decoded(snapshot), relations=True)
        for _ in range(TRIES if packing.relations is not None else 0):
            where = anywhere(snapshot, rng)
            if feasible(snapshot, where):
                assignment = as_assignment(packing, where)
                for tiers in range(1, len(packing.tiers) + 1):
                    assert unmet(packing, assignment, tiers) == []


def test_pods_of_lower_tiers_may_even_out_what_the_rows_know_nothing_of() -> None:
    """Two web pods in one zone are fine once a pod they count is in the other one."""
    builder = SnapshotBuilder()
    for zone in ("x", "y"):
        builder.node(zone, labels={"zone": zone})
    web = builder.pod_class("web", priority=1)
    web.labels["app"] = builder.pod_class("helper").labels["app"] = "web"
    web.topology_spread.add(
        max_skew=1,
        topology_key="zone",
        when_unsatisfiable="DoNotSchedule",
        label_selector=pb.LabelSelector(match_labels=web.labels),
    )
    builder.pod("w0", of="web").pod("w1", of="web").pod("h", of="helper")
    snapshot = builder.message
    packing = reduce_snapshot(decoded(snapshot), relations=True)

    where = {"w0": "x", "w1": "x", "h": "y"}

    assert feasible(snapshot, where)
    assert unmet(packing, as_assignment(packing, where), tiers=1) == []
    assert unmet(packing, as_assignment(packing, where | {"h": ""}), tiers=2) != []
