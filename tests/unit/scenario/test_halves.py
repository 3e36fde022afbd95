"""A scenario without steps stands for steps."""

from __future__ import annotations

from pathlib import Path

from stowage_testbed.scenario.halves import halves
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.model import QUIET_S, Arrival
from stowage_testbed.scenario.steps.applying import Apply
from stowage_testbed.scenario.steps.waiting import Pack, Wait

TEXT = """\
name: test/case
description: Two workloads.
nodes: [{{count: 1, cpu: "4", memory: 4G}}]
workload: [{{name: a, replicas: 2}}, {{name: b, replicas: 1}}]
order: [b, a]
arrival: {arrival}
expect: {{deterministic: {{}}, optimizer: {{}}}}
"""


def placing(tmp_path: Path, arrival: Arrival) -> list[object]:
    path = tmp_path / "test" / "case.yaml"
    path.parent.mkdir()
    path.write_text(TEXT.format(arrival=arrival))
    (scenario,) = load_file(path)
    first, second = halves(scenario)
    assert (first.name, first.scheduler.optimizer) == ("deterministic", False)
    assert (second.name, second.scheduler.optimizer) == ("optimizer", True)
    assert [step.action for step in second.steps] == [Pack()]
    return [step.action for step in first.steps]


def test_sequential_workloads_come_when_those_before_are_decided(
    tmp_path: Path,
) -> None:
    """In their order, and no pod may change at the end."""
    assert placing(tmp_path, "sequential") == [
        Apply(("b",)),
        Wait("decided"),
        Apply(("a",)),
        Wait("decided"),
        Wait("decided", stable_s=QUIET_S),
    ]


def test_a_burst_comes_at_once(tmp_path: Path) -> None:
    assert placing(tmp_path, "burst") == [
        Apply(("b", "a")),
        Wait("decided", stable_s=QUIET_S),
    ]
