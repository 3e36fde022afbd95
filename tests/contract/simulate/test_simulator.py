"""The Python side of stowage-simulate, against the real binary."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stowage_testbed.base.errors import StowageError
from stowage_testbed.simulate import (
    Instance,
    Placements,
    Simulator,
    find_profile,
    process,
)

GIB = 2**30


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with Simulator(find_profile("deterministic")) as running:
        yield running


def figure_1() -> Instance:
    return Instance(
        id="figure-1",
        nodes=(node("a"), node("b")),
        pods=(pod("first", 2), pod("second", 2), pod("third", 3)),
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
    many = Instance(
        "many", (node("a", 10**4),), tuple(pod(f"p-{i:04}", 1) for i in range(3000))
    )
    assert len(simulator.place(many).nodes) == 3000


def test_a_broken_configuration_is_named_with_its_issue(tmp_path: Path) -> None:
    """The file and the field are what the user can repair."""
    config = tmp_path / "profile.yaml"
    config.write_text(
        find_profile("deterministic").read_text().replace("parallelism", "parallel")
    )
    with (
        Simulator(config) as simulator,
        pytest.raises(StowageError, match=r'profile\.yaml.*"parallel"') as ended,
    ):
        simulator.place(figure_1())
    assert "exit code 2" in str(ended.value)


def test_an_instance_that_takes_too_long_ends_the_process() -> None:
    """Nothing may wait for ever, whatever a plugin does."""
    simulator = Simulator(find_profile("deterministic"), timeout_s=0.0)
    with simulator, pytest.raises(StowageError, match="longer timeout_s"):
        simulator.place(figure_1())


def test_a_larger_instance_has_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is enough for 1,000 pods is not for 50,000."""
    limits_s: list[float] = []

    class Watchdog(threading.Timer):
        def __init__(self, interval: float, *rest: Any) -> None:
            super().__init__(interval, *rest)
            limits_s.append(interval)

    monkeypatch.setattr(threading, "Timer", Watchdog)
    with Simulator(find_profile("deterministic")) as simulator:
        simulator.place(figure_1())
        monkeypatch.setattr(process, "ROOMY_BYTES", 10)
        simulator.place(figure_1())

    assert limits_s[0] == process.INSTANCE_TIMEOUT_S
    assert limits_s[1] > 10 * process.INSTANCE_TIMEOUT_S


def test_an_unknown_profile_is_refused_with_those_there_are() -> None:
    """A misspelt name must not fall back to another profile."""
    with pytest.raises(StowageError, match=r"there are: .*deterministic"):
        find_profile("determinstic")
