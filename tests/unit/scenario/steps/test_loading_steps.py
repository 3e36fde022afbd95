"""What a file with steps becomes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from stowage_testbed.declaration import make_object_schema
from stowage_testbed.hpa.settings import FULL, Autoscaling, Find, RecoverySettings
from stowage_testbed.scenario.arrivals.process import ArrivalProcess, Lifetime
from stowage_testbed.scenario.expected_moment import Bounds, ExpectedObject
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.model import CatchItem, Scenario
from stowage_testbed.scenario.objects import ObjectSpec
from stowage_testbed.scenario.steps.applying import Apply, Evict, Scale, Usage
from stowage_testbed.scenario.steps.arriving import Burst
from stowage_testbed.scenario.steps.drain import Drain
from stowage_testbed.scenario.steps.interrupt import Interrupt
from stowage_testbed.scenario.steps.measuring import Overload
from stowage_testbed.scenario.steps.nodes import Cordon, TaintNodes
from stowage_testbed.scenario.steps.scheduling import Release
from stowage_testbed.scenario.steps.waiting import Check, Wait

GOOD = Path(__file__).parents[1] / "good"


def good(name: str) -> Scenario:
    (scenario,) = load_file(GOOD / f"{name}.yaml")
    return scenario


def test_every_step_is_read_with_its_place_and_its_defaults() -> None:
    """A step that fails is named by number, kind and line."""
    release, *steps, end = good("steps").steps

    assert (release.kind, end.kind) == ("release", "checkpoint")
    assert [(s.number, s.kind, s.line) for s in steps][:4] == [
        (1, "apply", 14), (2, "apply", 15), (3, "scale", 16), (4, "burst", 17),
    ]  # fmt: skip
    arrival, lifetime = ArrivalProcess("gamma", 2, 3, 4), Lifetime("constant", 2)
    assert [step.action for step in steps][:11] == [
        # All but task: a controller would take the burst's pods for its own.
        Apply(("web", "db")),
        Apply(("lone",)),
        Scale("web", 7),
        Burst("task", 3, arrival, lifetime),
        Wait("bound", ("db",), 1, stable_s=1.0),
        Evict("db", 1),
        Cordon(("node-0",)),
        Drain(("node-0",), 9),
        TaintNodes(("node-0",), "k", "NoSchedule"),
        Usage("web", cpu_milli=250),
        Interrupt("kwok", "kill", 3.0),
    ]
    check = steps[11].action
    assert isinstance(check, Check)
    assert check.expect.placed == Bounds(1, None)
    assert check.expect.objects == {"lone": ExpectedObject(phase="Running")}


def test_the_sections_around_the_steps_are_read() -> None:
    """Scheduler, time-outs and evidence belong to the run, not to a step."""
    scenario = good("steps")
    metadata = {"name": "lone", "labels": {"a": "b"}}
    lone = {"kind": "Pod", "metadata": metadata, "spec": {"containers": []}}

    assert scenario.steps[0].action == Release("optimizer", True, {"a": 1})
    assert scenario.is_planned
    assert scenario.timeouts == {"wait": 5.0}
    assert scenario.catch == (
        CatchItem("events"),
        CatchItem("logs"),
        CatchItem("objects", "Node"),
        CatchItem("describe", "db"),
    )
    assert scenario.objects == {"lone": ObjectSpec("lone", lone, "line 10")}
    assert scenario.workload[0].ends_in_s == 1.5
    assert scenario.priorities == (0, 5)
    # Deadlines grow with the pods: 2 of db, 1 alone, 7 of web, 3 of the burst.
    assert scenario.pod_count == 13


def test_all_stands_for_generated_workloads_too() -> None:
    """A generated instance has workloads that nobody wants to list."""
    scenario = good("instance")

    names = tuple(workload.name for workload in scenario.workload)
    assert scenario.steps[1].action == Apply(names)
    assert scenario.pod_count == 8


def test_the_schema_has_every_setting_of_an_overload_with_its_default() -> None:
    """`stowage scenario schema` is where an author looks them up."""
    words: dict[str, Any] = make_object_schema(Overload)["properties"]
    documented = {
        name: {key: inner["default"] for key, inner in word["properties"].items()}
        if "properties" in word
        else word["default"]
        for name, word in words.items()
        if name != "outcome"
    }

    assert documented == asdict(FULL)


def test_settings_of_an_overload_are_read_and_the_rest_are_defaults() -> None:
    """A word that is not read would leave an author with another load."""
    _, step, _ = good("overload").steps

    assert isinstance(step.action, Overload)
    assert step.action.outcome == "recovered"
    assert step.action.settings == RecoverySettings(
        autoscaling=Autoscaling(max_replicas=5), find=Find(start=2)
    )
