"""Recorded traces in scenarios, and scenarios made of a trace alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from trace_lines import HEADER, came, node

from stowage_testbed.base.errors import InputError
from stowage_testbed.scenario.errors import ScenarioIssuesError
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.of_trace import make_scenario_of_trace
from stowage_testbed.scenario.steps.arriving import Replay
from stowage_testbed.scenario.steps.kinds import actions_of
from stowage_testbed.trace import format as trace
from stowage_testbed.trace.writing import TraceWriter

GATED = trace.PodTemplate({}, {}, {"schedulingGates": [{"name": "wait"}]})
FIRST, LATER = node(0), node(3, "n2")

STEPS = """\
version: 1
name: test/case
description: A recorded trace.
steps:
  - replay: {file: trace.jsonl}
expect: {end: {placed: {min: 0}}}
"""
OWN_NODES = ("steps:", "nodes: [{count: 1, cpu: 1, memory: 1G}]\nsteps:")
AS_RECORDED = ("trace.jsonl}", "trace.jsonl, placed: as-recorded}")


def pods(*names: str, template: trace.PodTemplate | None = None) -> list[trace.Line]:
    first = trace.Template(t=1, id="a", template=template or trace.PodTemplate())
    return [first, *(came(2, one) for one in names)]


def a_trace(folder: Path, *lines: trace.Line, name: str = "trace.jsonl") -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    with TraceWriter(folder / name, HEADER) as writer:
        for line in lines:
            writer.write(line)
    return folder / name


EXPECTED = ("placed: {min: 0}", "placements: {p: [n1]}")


@pytest.mark.parametrize(
    ("changes", "lines", "issue"),
    [
        # Pods alone can be placed nowhere.
        ([], pods("p"), "lacks 'nodes'"),
        # Pods without a controller count as a workload of their name.
        ([EXPECTED], [FIRST, *pods("q")], "'p'"),
        # A scenario's own nodes have other names.
        ([AS_RECORDED, OWN_NODES], [FIRST, *pods("p")], "leave out `placed`"),
    ],
)
def test_what_the_trace_does_not_bring_is_told(
    changes: list[tuple[str, str]], lines: list[trace.Line], issue: str, tmp_path: Path
) -> None:
    """Expectations and placements name the pods and nodes of the trace."""
    file, text = a_trace(tmp_path / "test", *lines), STEPS
    for old, new in changes:
        text = text.replace(old, new)
    file.with_name("case.yaml").write_text(text)
    with pytest.raises(ScenarioIssuesError, match=issue):
        load_file(file.with_name("case.yaml"))


def test_a_trace_alone_makes_a_scenario_that_measures_all_of_it(tmp_path: Path) -> None:
    """No file has to be written by hand."""
    file = a_trace(tmp_path / "elsewhere", FIRST, *pods("p"), name="My Day.jsonl.gz")
    scenario = make_scenario_of_trace(file, tmp_path / "results", speed=2.5)
    (replay,) = actions_of(scenario.steps, Replay)

    assert scenario.name == "traces/my-day-x2-5"
    assert [step.kind for step in scenario.steps if step.line] == [
        "measure", "replay", "wait", "measure",
    ]  # fmt: skip
    assert (replay.speed, replay.recorded is not None) == (2.5, True)
    assert scenario.path == tmp_path / "results" / "traces" / "my-day-x2-5.yaml"


def test_nobody_waits_for_pods_on_which_no_scheduler_decides(tmp_path: Path) -> None:
    """There are none, or nobody opens their gates; and each is another scenario."""
    texts = set[str]()
    for lines in ([], pods("p", template=GATED)):
        file = a_trace(tmp_path / "elsewhere", FIRST, *lines)
        scenario = make_scenario_of_trace(file, tmp_path)
        assert "wait" not in [step.kind for step in scenario.steps]
        assert scenario.path is not None
        texts.add(scenario.path.read_text().splitlines()[0])

    # A comparison that is resumed must not mix the two.
    assert len(texts) == 2

    # It says where pods may go.
    with pytest.raises(InputError, match="no nodes at its beginning"):
        make_scenario_of_trace(a_trace(tmp_path / "elsewhere", LATER), tmp_path)
