"""Rows about relations deny nothing that can be carried out."""

from random import Random

import pytest
from brute_force import Where, feasible
from packing_oracle import items_of
from snapshot_builder import SnapshotBuilder
from solving_in_process import decoded

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.programs.counts import CountFormulation
from stowage_optimizer.programs.tied import TiedFormulation, by_class
from stowage_optimizer.ties.registry import with_ties
from stowage_strategies.linear import rows_of
from tests.differential.related_pods import crowded_pods

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
        pod.uid: pod.node if pod.node and (not pod.movable or rng.randrange(2)) else rng.choice(names)
        for pod in snapshot.pods
    }


def as_assignment(packing: Packing, where: Where) -> Assignment:
    number = {name: node for node, name in enumerate(packing.node_names)}
    return tuple(number.get(where[item.pod_uid]) for item in items_of(packing))


def unmet(packing: Packing, assignment: Assignment, tiers: int) -> list[object]:
    """Return which of the rows about relations ``assignment`` does not meet."""
    formulation = TiedFormulation(packing, tiers)
    values = formulation.values(assignment)
    others = len(list(rows_of(CountFormulation(by_class(packing)[0], tiers).program)))
    rows = list(rows_of(formulation.program))[others:]
    return [row for row in rows if sum(times * values[variable] for variable, times in row[0]) > row[2]]


@pytest.mark.parametrize("first", range(0, 30, 10))
def test_whatever_can_be_carried_out_meets_the_rows(first: int) -> None:
    """The checker, which shares no code with the rows, says what can be."""
    for seed in range(first, first + 10):
        rng, snapshot = Random(seed), roomy(seed)  # noqa: S311
        packing = with_ties(reduce_snapshot(decoded(snapshot), relations=True))
        for _ in range(TRIES if packing.ties else 0):
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
    packing = with_ties(reduce_snapshot(decoded(snapshot), relations=True))

    where = {"w0": "x", "w1": "x", "h": "y"}

    assert feasible(snapshot, where)
    assert unmet(packing, as_assignment(packing, where), tiers=1) == []
    assert unmet(packing, as_assignment(packing, where | {"h": ""}), tiers=2) != []
