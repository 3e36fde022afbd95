"""What replaying a recorded trace comes to."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from trace_lines import HEADER, came, node

from stowage_testbed.api.pod_templates import LIFETIME
from stowage_testbed.base.errors import InputError
from stowage_testbed.scenario.arrivals.recorded import RecordedReplay, make_recorded_replay
from stowage_testbed.scenario.check import find_differences
from stowage_testbed.scenario.from_trace import make_scenario_of_trace
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.steps.action import actions_of
from stowage_testbed.scenario.steps.replaying import Replay
from stowage_testbed.scenario.yaml_file import ScenarioIssuesError
from stowage_testbed.trace import format as trace
from stowage_testbed.trace.reading import Trace
from stowage_testbed.trace.record import TraceWriter

REPLAYS: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("recorded.yaml").read_text("utf-8"))[
    "replays"
]
SPEC = {
    "containers": [{"name": "m", "image": "pause"}],
    "priority": 5,
    "priorityClassName": "high",
    "schedulerName": "theirs",
    "preemptionPolicy": "Never",
    "schedulingGates": [{"name": "wait"}],
}
TEMPLATE = trace.Template(t=0, id="a", template=trace.PodTemplate({"app": "x"}, {}, SPEC))


def replay(*lines: trace.Line, **how: Any) -> RecordedReplay:
    return make_recorded_replay(Trace(HEADER, (TEMPLATE, *lines)), **how)


@pytest.mark.parametrize("case", REPLAYS.values(), ids=REPLAYS)
def test_what_happened_happens_again(case: dict[str, Any]) -> None:
    """As far as it does not fall to the scheduler or to controllers."""
    lines = [msgspec.convert(one, trace.Line) for one in case["lines"]]
    how = {key: case[key] for key in ("speed", "limit") if key in case}
    made = replay(*lines, **how)

    assert [[one.at_s, one.verb, one.kind, one.name] for one in made.requests] == [row[:4] for row in case["deeds"]]
    for deed, row in zip(made.requests, case["deeds"], strict=True):
        for body in row[4:]:
            assert list(find_differences(body, deed.body)) == []
            assert deed.verb == "create" or deed.body == body
            assert deed.subresource == ("status" if "status" in body else "")
    if "left" in case:
        assert made.left == case["left"]
    if "first" in case:
        assert case["first"] == {
            what: [one["metadata"]["name"] for one in getattr(made, f"first_{what}")]
            for what in ("nodes", "objects", "pods")
        }
    if "first node" in case:
        assert made.first_nodes[0]["spec"] == case["first node"]["spec"]
    if "wide" in case:
        assert [*map(list, made.wide)] == case["wide"]
        assert [*made.controllers] == case["controllers"]
    if "placed" in case:
        assert msgspec.json.decode(msgspec.json.encode(made.placed)) == case["placed"]
    if "first lifetime" in case:
        annotations = made.first_pods[0]["metadata"]["annotations"]
        assert annotations[LIFETIME] == case["first lifetime"]


def test_on_nodes_of_the_scenario_those_of_the_trace_do_not_come() -> None:
    """Nor what became of them."""
    made = replay(node(0), trace.NodeGone(t=3, name="n1"), came(4))
    without = made.without_nodes()

    assert (len(made.first_nodes), made.nodes) == (1, ("n1",))
    assert (without.first_nodes, without.nodes) == ((), ())
    assert [(one.at_s, one.kind) for one in without.requests] == [(4, "Pod")]


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
