"""What replaying a recorded trace comes to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from trace_lines import HEADER, came, node

from stowage_testbed.api.pod_annotations import LIFETIME
from stowage_testbed.scenario.arrivals.recorded import RecordedReplay
from stowage_testbed.scenario.arrivals.recorded_making import make_recorded_replay
from stowage_testbed.scenario.subset import find_differences
from stowage_testbed.trace import format as trace
from stowage_testbed.trace.reading import Trace

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

    assert [[one.at_s, one.do, one.kind, one.name] for one in made.deeds] == [row[:4] for row in case["deeds"]]
    for deed, row in zip(made.deeds, case["deeds"], strict=True):
        for body in row[4:]:
            assert list(find_differences(body, deed.body)) == []
            assert deed.do == "create" or deed.body == body
            assert deed.subresource == ("status" if "status" in body else "")
    if "left" in case:
        assert made.left == case["left"]
    if "first" in case:
        assert case["first"] == {
            what: [one["metadata"]["name"] for one in getattr(made.first, what)]
            for what in ("nodes", "objects", "pods")
        }
    if "first node" in case:
        assert made.first.nodes[0]["spec"] == case["first node"]["spec"]
    if "wide" in case:
        assert [*map(list, made.wide)] == case["wide"]
        assert [*made.controllers] == case["controllers"]
    if "placed" in case:
        assert {k: [*v] for k, v in made.first.placed.items()} == case["placed"]
    if "first lifetime" in case:
        annotations = made.first.pods[0]["metadata"]["annotations"]
        assert annotations[LIFETIME] == case["first lifetime"]


def test_on_nodes_of_the_scenario_those_of_the_trace_do_not_come() -> None:
    """Nor what became of them."""
    made = replay(node(0), trace.NodeGone(t=3, name="n1"), came(4))
    without = made.without_nodes()

    assert (len(made.first.nodes), made.nodes) == (1, ("n1",))
    assert (without.first.nodes, without.nodes) == ((), ())
    assert [(one.at_s, one.kind) for one in without.deeds] == [(4, "Pod")]
