"""What is created of the workloads and objects of a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from amounts import asked, size

from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.declaration import make_object
from stowage_testbed.scenario.manifests import make_controllers, make_nodes, make_pods, make_priority_classes
from stowage_testbed.scenario.model import Scenario, Workload
from stowage_testbed.scenario.subset import find_differences

NODES = (NodePool("node", 2, size(4000, 4 * 10**9)),)
CASES: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("manifests.yaml").read_text("utf-8"))


def dig(found: Any, *path: str) -> Any:
    for key in path:
        found = found[int(key)] if isinstance(found, list) else found.get(key, {})
    return found


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_workload_becomes_controllers_and_pods(case: dict[str, Any]) -> None:
    """What the API demands of one kind it refuses of another."""
    workload = make_object(Workload, case["workload"])
    found = make_controllers(workload, "ns")

    assert list(find_differences({"all": case["made"]}, {"all": found})) == []
    for path in case.get("lacks", ()):
        assert not dig(found[0], *path.split("."))


def test_priorities_become_classes_and_the_simulator_gets_them_as_numbers() -> None:
    """Zero is the cluster's default; the simulator has no admission, no controllers."""
    workload = tuple(
        Workload(name, replicas, asked(100, 0), priority=priority)
        for name, replicas, priority in (("b", 2, 5), ("a", 1, 0), ("c", 1, -3))
    )
    scenario = Scenario("a/b", "a test", nodes=NODES, workload=workload)
    classes = make_priority_classes(scenario)
    pods, nodes = make_pods(scenario, "ns"), make_nodes(scenario)

    assert [(one["metadata"]["name"], one["value"]) for one in classes] == [
        ("stowage-minus-3", -3), ("stowage-5", 5),
    ]  # fmt: skip
    assert [(one["metadata"]["name"], one["spec"]["priority"]) for one in pods] == [
        ("b-0", 5), ("b-1", 5), ("a-0", 0), ("c-0", -3),
    ]  # fmt: skip
    assert [node["metadata"]["name"] for node in nodes] == ["node-0", "node-1"]
