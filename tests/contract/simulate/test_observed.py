"""What the fault of odd objects throws at a cluster, as an input of what-if."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.faults.odd_objects import (
    MANY_LABELS,
    chosen_of,
    make_classes,
    tame_budget,
    tame_node,
    tame_pod,
)
from stowage_testbed.simulate import (
    Instance,
    Question,
    SchedulerVerifier,
    Simulator,
    find_profile,
)
from stowage_testbed.whatif.inventory import Inventory
from stowage_testbed.whatif.reading import read_files

NORMAL, NODES = 1000, 20


def _normal() -> list[dict[str, Any]]:
    """Return pods of which each has room, every second of them on a node."""
    room = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    nodes = [
        {"kind": "Node", "metadata": {"name": f"n-{number}"}, "status": status}
        for number in range(NODES)
        for status in ({"capacity": room, "allocatable": room},)
    ]
    pods = []
    for number in range(NORMAL):
        spec: dict[str, Any] = {
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
            "schedulerName": "default-scheduler",
        }
        if number % 2:
            spec["nodeName"] = f"n-{number % NODES}"
        metadata = {"name": f"p-{number}", "namespace": "normal"}
        pods.append({"kind": "Pod", "metadata": metadata, "spec": spec})
    return nodes + pods


def _odd() -> list[dict[str, Any]]:
    """Return each chosen odd object, as it would be listed."""
    made = [{"kind": "Namespace", "metadata": {"name": "odd", "labels": MANY_LABELS}}]
    for number, pod in enumerate(chosen_of("Pod")):
        made += [*make_classes(pod), tame_pod(pod, f"odd-{number}", "odd")]
    for number, node in enumerate(chosen_of("Node")):
        made.append(tame_node(node, f"odd-{number}") | {"status": node["status"]})
    for number, budget in enumerate(chosen_of("PodDisruptionBudget")):
        where = ("odd", "normal")[number % 2]
        nobody = where == "normal"
        made.append(tame_budget(budget, f"b-{number}", where, of_nobody=nobody))
    return made


@pytest.fixture(scope="module")
def inventory(tmp_path_factory: pytest.TempPathFactory) -> Inventory:
    file = tmp_path_factory.mktemp("observed") / "all.json"
    file.write_text(json.dumps({"kind": "List", "items": _normal() + _odd()}))
    return read_files([file])


@pytest.fixture(scope="module")
def profile() -> Path:
    return find_profile("deterministic")


def _instance(inventory: Inventory) -> Instance:
    return Instance(
        "odd", inventory.nodes, inventory.pods, inventory.objects, observed=True
    )


def test_odd_objects_keep_no_other_out_of_the_snapshot(
    inventory: Inventory, profile: Path
) -> None:
    """All of them are legal, some more than a scheduler can count; each is told."""
    with SchedulerVerifier(profile) as verifier:
        read = verifier.verify(Question(_instance(inventory)))

    there = {(pod.namespace, pod.name) for pod in read.snapshot.pods}
    assert sum(namespace == "normal" for namespace, _ in there) == NORMAL
    assert read.left_out
    assert all(one.object.startswith(("Pod odd/", "Node odd")) for one in read.left_out)


def test_odd_objects_keep_no_other_from_being_placed(
    inventory: Inventory, profile: Path
) -> None:
    """One on which the scheduler fails is left out; the others have room."""
    with Simulator(profile) as simulator:
        placed = simulator.place(_instance(inventory))

    waits = [pod for pod in placed.pending() if pod.startswith("normal/")]
    assert waits == []
