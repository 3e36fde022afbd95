"""The instances are the paper's, and stay the same."""

from __future__ import annotations

from collections import Counter

from stowage_testbed.instances.case import Case, Family
from stowage_testbed.instances.cell import Cell, grid

CELL = Cell(16, 8, 2, 105)


def test_the_grid_is_the_papers() -> None:
    """96 cells, each of its own."""
    assert len(set(grid())) == 96


def test_a_case_is_the_same_in_every_run_and_no_two_are_alike() -> None:
    """Results of today and of next year are of the same instances."""
    assert Case(Family.PAPER, CELL, 0).seed(0) == 7011357076576063322
    assert Case(Family.PAPER, CELL, 0).seed(1) != Case(Family.PAPER, CELL, 1).seed(0)


def test_the_mix_keeps_demand_and_capacity_and_adds_every_constraint() -> None:
    """Usage means the same in both grids."""
    kinds: Counter[str] = Counter()
    workloads = 0
    for number in range(6):
        before, after = (Case(family, CELL, number).scenario(0) for family in (Family.PAPER, Family.MIX))
        capacity = [sum(pool.count * pool.resources["cpu"] for pool in scenario.nodes) for scenario in (before, after)]
        assert abs(capacity[0] - capacity[1]) <= CELL.nodes
        assert {pool.name_prefix for pool in after.nodes if pool.taints} == {"small-dedicated"}
        kinds.update(key for one in after.workload for key in one.pod)
        workloads += len(after.workload)
    assert kinds.keys() == {
        "tolerations", "nodeSelector", "affinity", "topologySpreadConstraints",
    }  # fmt: skip
    assert 0.1 < kinds["nodeSelector"] / workloads < 0.3
    assert 0.4 < kinds["tolerations"] / workloads < 0.6
