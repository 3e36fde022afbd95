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
from stowage_testbed.whatif.asking import PlanLimits, findings_of
from stowage_testbed.whatif.findings import NOT_JUDGED, TOO_LARGE
from stowage_testbed.whatif.inventory import Inventory, inventory_of
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


GPU, IMPLICIT = "example.com/gpu", "deviceclass.resource.kubernetes.io/gpus"
CLASS: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpus"},
    "spec": {"extendedResourceName": GPU},
}
NO_CLASS = {**CLASS, "spec": {}}


@pytest.mark.parametrize(
    ("asked", "classes", "unread", "verdict"),
    [
        pytest.param(GPU, [CLASS], [], NOT_JUDGED, id="a class serves it"),
        pytest.param(IMPLICIT, [NO_CLASS], [], NOT_JUDGED, id="by the class's name"),
        pytest.param(GPU, [], ["DeviceClass"], NOT_JUDGED, id="classes not listed"),
        pytest.param(GPU, [NO_CLASS], [], TOO_LARGE, id="no class serves it"),
    ],
)
def test_nothing_is_proved_of_pods_that_may_get_devices(
    profile: Path,
    asked: str,
    classes: list[dict[str, Any]],
    unread: list[str],
    verdict: str,
) -> None:
    """No node lists what a device class serves; cores and memory are not stranded."""
    amounts = {"cpu": "1", asked: "1"}
    container = {"name": "c", "resources": {"requests": amounts, "limits": amounts}}
    node = {"cpu": "8", "memory": "8Gi", "pods": "10"}
    metadata = {"name": "p", "namespace": "default"}
    inventory = inventory_of(
        [
            {
                "kind": "Node",
                "metadata": {"name": "n"},
                "status": {"allocatable": node},
            },
            {"kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}},
            *classes,
        ],
        unread,
    )

    found = findings_of(inventory, profile, PlanLimits())

    assert [one.verdict for one in found.left] == [verdict]
    assert found.proved is (verdict == TOO_LARGE)
