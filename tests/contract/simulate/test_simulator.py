"""The Python side of stowage-simulate: the real binary, and odd objects for it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.faults.odd_objects import MANY_LABELS, chosen_of, make_classes, tame_budget, tame_node, tame_pod
from stowage_testbed.base.errors import StowageError
from stowage_testbed.simulate import process
from stowage_testbed.simulate.instance import Instance, Placements, Question
from stowage_testbed.simulate.process import SchedulerVerifier, Simulator, find_profile
from stowage_testbed.whatif.reading import read_files

GIB = 2**30


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with Simulator(find_profile("deterministic")) as running:
        yield running


def figure_1() -> Instance:
    return Instance(
        id="figure-1", nodes=(node("a"), node("b")), pods=(pod("first", 2), pod("second", 2), pod("third", 3))
    )


def node(name: str, memory_gib: int = 4) -> dict[str, object]:
    capacity = {"cpu": "4", "memory": str(memory_gib * GIB), "pods": "110"}
    return {"metadata": {"name": name}, "status": {"capacity": capacity}}


def pod(name: str, memory_gib: int) -> dict[str, object]:
    requests = {"memory": str(memory_gib * GIB)}
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    return {"metadata": {"name": name}, "spec": {"containers": [container]}}


def test_every_pod_has_a_node_or_is_pending_for_a_reason(simulator: Simulator) -> None:
    """The caller compares placements pod by pod, so none may be left out."""
    full = "0/2 nodes are available: 2 Insufficient memory."
    assert simulator.place(figure_1()) == Placements(
        id="figure-1",
        nodes={"default/first": "a", "default/second": "b", "default/third": None},
        reasons={"default/third": full},
    )
    assert simulator.place(figure_1()).pending() == ["default/third"]


def test_a_refused_instance_does_not_stop_the_next(simulator: Simulator) -> None:
    """Thousands of instances go through one process; one bad one is one error."""
    broken = Instance("broken", (node("a", memory_gib=-4),), ())
    with pytest.raises(StowageError, match="memory: -4294967296 is negative"):
        simulator.place(broken)
    assert simulator.place(figure_1()).nodes["default/first"] == "a"


def test_large_instances_do_not_block_the_pipes(simulator: Simulator) -> None:
    """Question and answer are larger than a pipe's buffer."""
    pods = tuple(pod(f"p-{number:04}", 1) for number in range(3000))
    assert len(simulator.place(Instance("many", (node("a", 10**4),), pods)).nodes) == 3000


def test_a_profile_that_cannot_be_used_is_named_with_its_issue(tmp_path: Path) -> None:
    """What the user can repair is told: no other profile is taken in its place."""
    config = tmp_path / "profile.yaml"
    right = find_profile("deterministic").read_text()
    config.write_text(right.replace("parallelism", "parallel"))
    with Simulator(config) as simulator, pytest.raises(StowageError, match=r'profile\.yaml.*"parallel"') as ended:
        simulator.place(figure_1())
    assert "exit code 2" in str(ended.value)
    with pytest.raises(StowageError, match=r"there are: .*deterministic"):
        find_profile("determinstic")


def test_larger_instances_have_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a plugin does; what is enough for 1,000 pods is not for 50,000."""
    profile, short_s = find_profile("deterministic"), 0.001
    simulator = Simulator(profile, timeout_s=short_s)
    with simulator, pytest.raises(StowageError, match="longer timeout_s"):
        simulator.place(figure_1())

    monkeypatch.setattr(process, "ROOMY_BYTES", 0.001)
    with Simulator(profile, timeout_s=short_s) as simulator:
        assert simulator.place(figure_1()).pending() == ["default/third"]


NORMAL, NODES = 1000, 20


def _normal() -> list[dict[str, Any]]:
    """Return pods of which each has room, every second of them on a node."""
    room = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    status = {"capacity": room, "allocatable": room}
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    spec = {"containers": [container], "schedulerName": "default-scheduler"}
    made: list[dict[str, Any]] = [
        {"kind": "Node", "metadata": {"name": f"n-{number}"}, "status": status} for number in range(NODES)
    ]
    for number in range(NORMAL):
        metadata = {"name": f"p-{number}", "namespace": "normal"}
        on = {"nodeName": f"n-{number % NODES}"} if number % 2 else {}
        made.append({"kind": "Pod", "metadata": metadata, "spec": {**spec, **on}})
    return made


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
def instance(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    file = tmp_path_factory.mktemp("observed") / "all.json"
    file.write_text(json.dumps({"kind": "List", "items": _normal() + _odd()}))
    read = read_files([file])
    return Instance("odd", read.nodes, read.pods, read.objects, observed=True)


def test_odd_objects_keep_no_other_out_of_the_snapshot(instance: Instance) -> None:
    """All of them are legal, some more than a scheduler can count; each is told."""
    with SchedulerVerifier(find_profile("deterministic")) as verifier:
        read = verifier.verify(Question(instance))
    normal = [pod for pod in read.snapshot.pods if pod.namespace == "normal"]
    assert len({pod.name for pod in normal}) == NORMAL
    assert read.left_out
    assert all(one.object.startswith(("Pod odd/", "Node odd")) for one in read.left_out)


def test_odd_objects_keep_no_other_from_being_placed(instance: Instance) -> None:
    """One on which the scheduler fails is left out; the others have room."""
    with Simulator(find_profile("deterministic")) as simulator:
        placed = simulator.place(instance)
    assert not [pod for pod in placed.pending() if pod.startswith("normal/")]
