"""The instances are the paper's, and stay the same."""

from __future__ import annotations

from collections import Counter

from google.protobuf.json_format import MessageToDict

from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.model.decode.snapshot import decode_snapshot
from stowage_testbed.instances.case import Case, Family
from stowage_testbed.instances.cell import Cell, grid
from stowage_testbed.instances.constraint_mix import DEDICATED, DISK
from stowage_testbed.instances.snapshot import snapshot_of

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
        before, after = (
            Case(family, CELL, number).scenario(0)
            for family in (Family.PAPER, Family.MIX)
        )
        capacity = [
            sum(pool.count * pool.resources["cpu"] for pool in scenario.nodes)
            for scenario in (before, after)
        ]
        assert abs(capacity[0] - capacity[1]) <= CELL.nodes
        assert {pool.name_prefix for pool in after.nodes if pool.taints} == {
            "small-dedicated"
        }
        kinds.update(key for one in after.workload for key in one.pod)
        workloads += len(after.workload)
    assert kinds.keys() == {
        "tolerations", "nodeSelector", "affinity", "topologySpreadConstraints",
    }  # fmt: skip
    assert 0.1 < kinds["nodeSelector"] / workloads < 0.3
    assert 0.4 < kinds["tolerations"] / workloads < 0.6


def test_a_snapshot_of_the_mix_meets_the_contract() -> None:
    """The service must not refuse what is made of an instance."""
    scenario = Case(Family.MIX, CELL, 0).scenario(0)
    waiting = {
        f"{workload.name}-{number}": None
        for workload in scenario.workload
        for number in range(workload.replicas)
    }
    snapshot = snapshot_of(scenario, waiting)
    issues = Issues()

    decode_snapshot(snapshot, issues)

    issues.raise_if_any()
    assert len(snapshot.pods) == 128
    text = str(MessageToDict(snapshot))
    for part in (DISK, DEDICATED, "topologySpread", "requiredPodAntiAffinity"):
        assert part in text
