"""Recorded traces in scenarios, and scenarios made of a trace alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from stowage_testbed.base.errors import InputError
from stowage_testbed.run.timeouts import DEFAULT_TIMEOUTS
from stowage_testbed.scenario.errors import ScenarioIssuesError
from stowage_testbed.scenario.explain import explain
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.of_trace import make_scenario_of_trace
from stowage_testbed.scenario.steps.arriving import Replay
from stowage_testbed.trace.format import (
    Header,
    Line,
    Node,
    NodeSeen,
    PodCame,
    PodTemplate,
    Template,
)
from stowage_testbed.trace.writing import TraceWriter

HEADER = Header(1, "2026-11-26T15:00:00Z", "1.37.2")
NODE = NodeSeen(t=0, name="n1", node=Node({"cpu": "4"}, {"cpu": "4"}))
LATER = NodeSeen(t=3, name="n2", node=NODE.node)
GATED = PodTemplate({}, {}, {"schedulingGates": [{"name": "wait"}]})

STEPS = """\
version: 1
name: test/case
description: A recorded trace.
steps:
  - replay: {file: trace.jsonl}
expect: {end: {placed: {min: 0}}}
"""


def pods(*names: str, template: PodTemplate | None = None) -> list[Line]:
    first = Template(t=1, id="a", template=template or PodTemplate())
    return [first, *(PodCame(t=2, namespace="ns", name=one, of="a") for one in names)]


def a_trace(folder: Path, *lines: Line, name: str = "trace.jsonl") -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    with TraceWriter(folder / name, HEADER) as writer:
        for line in lines:
            writer.write(line)
    return folder / name


def a_scenario(folder: Path, *lines: Line, text: str = STEPS) -> Scenario:
    a_trace(folder / "test", *lines)
    path = folder / "test" / "case.yaml"
    path.write_text(text)
    (scenario,) = load_file(path)
    return scenario


def test_the_nodes_of_a_trace_are_those_of_the_scenario(tmp_path: Path) -> None:
    """They are there before the first step, and those that came later are known."""
    scenario = a_scenario(tmp_path, NODE, LATER, *pods("p", "q"))

    assert [one["metadata"]["name"] for one in scenario.first_nodes] == ["n1"]
    assert scenario.node_names == ("n1", "n2")
    assert scenario.pod_count == 2


def test_nodes_of_the_scenarios_own_stand_in_their_place(tmp_path: Path) -> None:
    """As of who asks what would become of the pods on other nodes."""
    own = STEPS.replace("steps:", "nodes: [{count: 1, cpu: 1, memory: 1G}]\nsteps:")
    scenario = a_scenario(tmp_path, NODE, LATER, *pods("p"), text=own)

    assert scenario.node_names == ("node-0",)


def test_a_scenario_without_any_nodes_is_told_so(tmp_path: Path) -> None:
    """Pods alone can be placed nowhere."""
    with pytest.raises(ScenarioIssuesError, match="lacks 'nodes'"):
        a_scenario(tmp_path, *pods("p"))


def test_expectations_name_the_pods_and_nodes_of_the_trace(tmp_path: Path) -> None:
    """Pods without a controller count as a workload of their name."""
    text = STEPS.replace("placed: {min: 0}", "placements: {p: [n1]}")

    a_scenario(tmp_path, NODE, *pods("p"), text=text)
    with pytest.raises(ScenarioIssuesError, match="'p'"):
        a_scenario(tmp_path, NODE, *pods("q"), text=text)


def test_broken_lines_are_reported_with_their_place(tmp_path: Path) -> None:
    """Beside what is wrong with the scenario."""
    trace = a_trace(tmp_path / "test", NODE)
    with trace.open("a") as file:
        file.write('{"t": 1, "do": "jump"}\n')
    path = tmp_path / "test" / "case.yaml"
    path.write_text(STEPS)
    with pytest.raises(ScenarioIssuesError) as caught:
        load_file(path)

    places = [(one.path.name, one.line) for one in caught.value.issues]
    assert ("trace.jsonl", 3) in places


def test_an_explanation_says_what_the_trace_brings(tmp_path: Path) -> None:
    """Who reads the scenario has not read the trace."""
    scenario = a_scenario(tmp_path, NODE, *pods("p", "q"))
    said = explain(scenario, DEFAULT_TIMEOUTS.step_s)

    assert "have 1 nodes, 0 objects and 0 bare pods there" in said
    assert "the last after 2 s; 2 pods came in all in trace.jsonl" in said


def test_a_trace_alone_makes_a_scenario_that_measures_all_of_it(
    tmp_path: Path,
) -> None:
    """No file has to be written by hand."""
    trace = a_trace(tmp_path / "elsewhere", NODE, *pods("p"), name="My Day.jsonl.gz")
    scenario = make_scenario_of_trace(trace, tmp_path / "results", speed=2.5)
    kinds = [step.kind for step in scenario.steps if step.line]
    (replay,) = (s.action for s in scenario.steps if isinstance(s.action, Replay))

    assert scenario.name == "traces/my-day-x2-5"
    assert kinds == ["measure", "replay", "wait", "measure"]
    assert replay.speed == 2.5
    assert replay.recorded is not None
    assert scenario.path == tmp_path / "results" / "traces" / "my-day-x2-5.yaml"


@pytest.mark.parametrize(
    "lines", [[], pods("p", template=GATED)], ids=["none", "gated"]
)
def test_nobody_waits_for_pods_on_which_no_scheduler_decides(
    tmp_path: Path, lines: list[Line]
) -> None:
    """There are none, or nobody opens their gates."""
    trace = a_trace(tmp_path / "elsewhere", NODE, *lines)
    scenario = make_scenario_of_trace(trace, tmp_path)

    assert "wait" not in [step.kind for step in scenario.steps]


def test_another_trace_is_another_scenario(tmp_path: Path) -> None:
    """A comparison that is resumed must not mix the two."""
    texts = []
    for lines in ([NODE], [NODE, *pods("p")]):
        trace = a_trace(tmp_path / "elsewhere", *lines)
        path = make_scenario_of_trace(trace, tmp_path).path
        assert path is not None
        texts.append(path.read_text())

    assert texts[0].splitlines()[0] != texts[1].splitlines()[0]


def test_a_trace_without_nodes_needs_a_scenario(tmp_path: Path) -> None:
    """It says where pods may go."""
    with pytest.raises(InputError, match="no nodes at its beginning"):
        make_scenario_of_trace(a_trace(tmp_path / "elsewhere", LATER), tmp_path)


def test_pods_are_placed_as_recorded_only_on_the_traces_nodes(tmp_path: Path) -> None:
    """A scenario's own nodes have other names."""
    asked = STEPS.replace("trace.jsonl}", "trace.jsonl, placed: as-recorded}")
    own = asked.replace("steps:", "nodes: [{count: 1, cpu: 1, memory: 1G}]\nsteps:")

    steps = a_scenario(tmp_path / "a", NODE, *pods("p"), text=asked).steps
    with pytest.raises(ScenarioIssuesError, match="leave out `placed`"):
        a_scenario(tmp_path / "b", NODE, *pods("p"), text=own)

    (replay,) = (one.action for one in steps if isinstance(one.action, Replay))
    assert replay.placed == "as-recorded"
