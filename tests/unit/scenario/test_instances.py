"""Instances are those of the paper, and stay the same."""

from collections import Counter
from pathlib import Path

import pytest
import yaml
from amounts import asked
from mixed_instances import mixed_scenario

from stowage_testbed.scenario.instances import Case, Cell, Family, generate, grid
from stowage_testbed.scenario.model import InstanceSpec

PUBLISHED = yaml.safe_load(Path(__file__).with_name("published_instances.yaml").read_text())


@pytest.mark.parametrize("seed", PUBLISHED["4 nodes"])
def test_a_seed_gives_the_published_instance(seed: int) -> None:
    """4 nodes, 16 pods, 1 priority, usage 90 %: sizes, requests and capacities."""
    published = PUBLISHED["4 nodes"][seed]

    pool, workload = generate(InstanceSpec(seed, 4, 4, 1, 0.90))

    assert [(one.replicas, one.requests) for one in workload] == [
        (replicas, asked(*requests)) for replicas, *requests in published["sets"]
    ]
    assert pool.resources.without("pods") == asked(*published["node"])
    assert pool.node_names() == ["node-0", "node-1", "node-2", "node-3"]
    assert pool.resources["pods"] == 512


def test_a_seed_gives_the_published_priorities() -> None:
    """16 nodes, 64 pods, 2 priorities, usage 95 %: all 23 ReplicaSets."""
    _, workload = generate(InstanceSpec(484806185843093489, 16, 4, 2, 0.95))

    assert PUBLISHED["16 nodes"] == [
        [one.name, one.replicas, one.requests["cpu"], one.requests["memory"]] for one in workload
    ]


def test_a_node_has_room_for_the_largest_pod() -> None:
    """Even if it is most of what all nodes need to have together."""
    pool, workload = generate(InstanceSpec(1, 16, 1, 1, 1.05))

    for resource, capacity in pool.resources.without("pods").items():
        largest = max(one.requests[resource] for one in workload)
        total = sum(one.replicas * one.requests[resource] for one in workload)
        assert capacity == largest > total / (16 * 1.05)


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
        before, after = Case(Family.PAPER, CELL, number).scenario(0), mixed_scenario(CELL, number)
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
