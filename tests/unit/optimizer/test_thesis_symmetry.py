"""The thesis's rows for equal pods and nodes, as they are printed."""

from __future__ import annotations

import pytest
from snapshot_builder import GB, SnapshotBuilder, figure_1
from solving_in_process import answer_to

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.model.decode.snapshot import decode_snapshot
from stowage_optimizer.strategies.linear.thesis import SymmetryFormulation

SYMMETRIC = ["cpsat-items-symmetry", "z3-symmetry"]


def meets(snapshot: pb.Snapshot, nodes: tuple[int | None, ...]) -> bool:
    """Tell whether an assignment meets every row of the program."""
    packing = reduce_snapshot(decode_snapshot(snapshot, Issues()))
    formulation = SymmetryFormulation(packing, len(packing.tiers))
    values = formulation.values(nodes)
    return all(
        sum(factor * values[variable] for variable, factor in row.terms) <= row.upper
        for row in formulation.program.rows
    )


def two_alike(*, home: str = "") -> pb.Snapshot:
    """Return two equal pods, the first at ``home``, and three equal nodes."""
    builder = SnapshotBuilder()
    for name in ("a", "b", "c"):
        builder.node(name, memory_bytes=4 * GB)
    builder.pod_class("web", memory_bytes=2 * GB)
    builder.pod("first", of="web", node=home).pod("second", of="web")
    return builder.message


def test_the_later_of_two_equal_nodes_has_the_more_memory_in_use() -> None:
    """So the last node is filled first."""
    assert meets(two_alike(), (2, 2))
    assert meets(two_alike(), (None, 2))
    assert not meets(two_alike(), (None, 0))


def test_a_pod_that_runs_on_the_first_node_may_not_stay() -> None:
    """What is there is cut off: its like would have to be on every node behind."""
    assert not meets(two_alike(home="a"), (0, None))
    assert not meets(two_alike(home="a"), (0, 1))


@pytest.mark.parametrize("strategy", SYMMETRIC)
def test_nothing_is_called_optimal_that_was_sought_with_the_rows(strategy: str) -> None:
    """A limit of the smaller problem is none of the real one: one move is needed."""
    answer = answer_to(figure_1(), strategy=strategy)

    assert not answer.plan.optimal
    assert "cut off answers" in answer.message


@pytest.mark.parametrize("strategy", SYMMETRIC)
def test_a_start_that_the_rows_deny_is_no_error(strategy: str) -> None:
    """A pod that the rows leave out stays where it is, if there is room."""
    plan = answer_to(two_alike(home="a"), strategy=strategy).plan

    assert [one.pod_uid for one in plan.placements] == ["second"]
    assert not plan.moves
