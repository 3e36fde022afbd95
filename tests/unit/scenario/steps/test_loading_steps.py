"""What a file with steps becomes."""

from __future__ import annotations

from pathlib import Path

from stowage_testbed.scenario.arrivals.process import ArrivalProcess, Lifetime
from stowage_testbed.scenario.expected_moment import Bounds, ExpectedObject
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.model import CatchItem, Scenario
from stowage_testbed.scenario.objects import ObjectSpec
from stowage_testbed.scenario.steps.applying import Apply, Evict, Scale, Usage
from stowage_testbed.scenario.steps.arriving import Burst
from stowage_testbed.scenario.steps.drain import Drain
from stowage_testbed.scenario.steps.interrupt import Interrupt
from stowage_testbed.scenario.steps.nodes import Cordon, TaintNodes
from stowage_testbed.scenario.steps.scheduling import Release
from stowage_testbed.scenario.steps.waiting import Check, Wait

TEXT = """\
version: 1
name: test/case
description: Every section.
nodes: [{count: 1, cpu: "4", memory: 4G}]
workload:
  - {name: web, cpu: 100m, ends_in_s: 1.5}
  - {name: db, replicas: 2, priority: 5}
  - {name: task}
objects:
  lone: {kind: Pod, metadata: {labels: {a: b}}, spec: {containers: []}}
scheduler: {profile: optimizer, optimizer: true, values: {a: 1}}
timeouts: {wait: 5}
steps:
  - apply: all
  - apply: lone
  - scale: {workload: web, to: 7}
  - burst:
      workload: task
      pods: 3
      arrival: {process: gamma, rate_per_s: 2, cv: 3, seed: 4}
      lifetime: {distribution: constant, mean_s: 2}
  - wait: {for: bound, of: db, count: 1, stable_s: 1}
  - evict: {workload: db}
  - cordon: node-0
  - drain: {nodes: node-0, timeout_s: 9}
  - taint: {nodes: [node-0], key: k, effect: NoSchedule}
  - usage: {workload: web, cpu: 250m}
  - interrupt: {process: kwok, how: kill, for_s: 3}
  - check: {placed: {min: 1}, objects: {lone: {phase: Running, there: true}}}
expect:
  end: {pending: {}}
catch: [events, logs, {objects: Node}, {describe: db}]
"""


def loaded(tmp_path: Path, text: str = TEXT) -> Scenario:
    path = tmp_path / "test" / "case.yaml"
    path.parent.mkdir()
    path.write_text(text, "utf-8")
    return load_file(path)[0]


def test_every_step_is_read_with_its_place_and_its_defaults(tmp_path: Path) -> None:
    """A step that fails is named by number, kind and line."""
    release, *steps, end = loaded(tmp_path).steps

    assert (release.kind, end.kind) == ("release", "checkpoint")
    assert [(s.number, s.kind, s.line) for s in steps][:4] == [
        (1, "apply", 14), (2, "apply", 15), (3, "scale", 16), (4, "burst", 17),
    ]  # fmt: skip
    assert [step.action for step in steps][:11] == [
        # All but task: a controller would take the burst's pods for its own.
        Apply(("web", "db")),
        Apply(("lone",)),
        Scale("web", 7),
        Burst(
            "task",
            3,
            ArrivalProcess("gamma", 2, 3, 4),
            Lifetime("constant", 2),
        ),
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


def test_the_sections_around_the_steps_are_read(tmp_path: Path) -> None:
    """Scheduler, time-outs and evidence belong to the run, not to a step."""
    scenario = loaded(tmp_path)

    assert scenario.steps[0].action == Release("optimizer", True, {"a": 1})
    assert scenario.is_planned
    assert scenario.timeouts == {"wait": 5.0}
    assert scenario.catch == (
        CatchItem("events"),
        CatchItem("logs"),
        CatchItem("objects", "Node"),
        CatchItem("describe", "db"),
    )
    assert scenario.objects == {
        "lone": ObjectSpec(
            "lone",
            {
                "kind": "Pod",
                "metadata": {"name": "lone", "labels": {"a": "b"}},
                "spec": {"containers": []},
            },
            "line 10",
        )
    }
    assert scenario.workload[0].ends_in_s == 1.5
    assert scenario.priorities == (0, 5)


def test_the_most_pods_that_are_asked_for_are_counted(tmp_path: Path) -> None:
    """Deadlines grow with the pods: 2 of db, 1 alone, 7 of web, 3 of the burst."""
    assert loaded(tmp_path).pod_count == 13


def test_all_stands_for_generated_workloads_too(tmp_path: Path) -> None:
    """A generated instance has workloads that nobody wants to list."""
    scenario = loaded(
        tmp_path,
        "version: 1\nname: test/case\ndescription: One instance.\n"
        "instance: {seed: 1, nodes: 2, pods_per_node: 4, priorities: 2, usage: 1}\n"
        "steps: [{apply: all}, {wait: {for: settled}}]\n"
        "expect: {end: {placed: {min: 1}}}\n",
    )

    assert scenario.steps[1].action == Apply(
        tuple(workload.name for workload in scenario.workload)
    )
    assert scenario.pod_count == 8
