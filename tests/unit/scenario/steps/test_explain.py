"""What `stowage scenario explain` and `new` say and write, and pods asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from amounts import asked
from typer.testing import CliRunner, Result

from stowage_testbed.cli import app
from stowage_testbed.scenario.arrivals.trace import Template, TracedPod
from stowage_testbed.scenario.explain import explain
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.steps.action import Action, Surroundings
from stowage_testbed.scenario.steps.applying import Apply, Delete, Scale
from stowage_testbed.scenario.steps.arriving import Burst, Replay
from stowage_testbed.scenario.steps.demand import (
    Demand,
    count_most_pods,
    count_most_pods_each,
)
from stowage_testbed.scenario.steps.kinds import ACTIONS
from stowage_testbed.scenario.steps.nodes import Cordon

SCENARIOS = Path(__file__).parents[4] / "scenarios"
WORDS = [
    (kind, plain, case["words"])
    for case in yaml.safe_load(Path(__file__).with_name("words.yaml").read_text())
    for kind, plain in case["step"].items()
]


@pytest.mark.parametrize(("kind", "plain", "words"), WORDS)
def test_a_step_is_reported_with_its_defaults(
    kind: str, plain: Any, words: str
) -> None:
    """What is not written happens all the same."""
    assert ACTIONS[kind].read(plain, Surroundings()).in_words() == words


def test_every_kind_of_step_is_reported() -> None:
    """A step without words would end `explain` in a traceback."""
    assert {kind for kind, _, _ in WORDS} == ACTIONS.keys()


def test_an_explanation_names_steps_lines_deadlines_and_expectations() -> None:
    """It is read beside the file."""
    (scenario,) = load_file(SCENARIOS / "reservation" / "scale-up.yaml")

    lines = explain(scenario, lambda _scenario, _kind, _nodes: 7.0).splitlines()

    line = next(s.line for s in scenario.steps if s.number == 2)
    assert set(lines) >= {
        f"  2. wait until peak is Available, at most 7 s [line {line}]",
        "       pods without a node: 1 of crowd, and no others",
        "  pods that took of peak: 2 of shop",
        "  they took cpu 200m, memory 3G",
        "At the end, within 7 s and at rest",
    }


def new(name: str, folder: Path) -> Result:
    return CliRunner().invoke(app, ["scenario", "new", name, "--folder", str(folder)])


def test_a_new_scenario_has_no_issues_and_overwrites_nothing(tmp_path: Path) -> None:
    """The first thing an author sees is what works, and his work stays."""
    path = tmp_path / "web" / "scale-up.yaml"

    made = new("web/scale-up", tmp_path)
    text = path.read_text("utf-8")
    again = new("web/scale-up", tmp_path)

    assert (made.exit_code, str(path) in made.output) == (0, True)
    assert text.startswith("# yaml-language-server: $schema=../schema.json\n")
    assert [s.scenario_id for s in load_file(path)] == [
        "web/scale-up", "web/scale-up@peak",
    ]  # fmt: skip
    assert "there is already a file" in str(again.exception)
    assert path.read_text("utf-8") == text


def test_a_name_that_no_scenario_can_bear_is_refused(tmp_path: Path) -> None:
    """Otherwise `validate` would reject the file at once."""
    result = new("Scale Up", tmp_path)

    assert "write a topic and a behaviour" in str(result.exception)
    assert list(tmp_path.iterdir()) == []


def test_the_pods_that_steps_ask_for_are_followed_step_by_step() -> None:
    """For deadlines and counts; an object without pods asks for none."""
    pod = Template(asked(1, 1))
    trace = tuple(TracedPod(0.0, f"job-{n}", "job", pod) for n in range(4))
    steps: list[tuple[Action, int]] = [
        (Apply(("web", "db", "budget")), 5),
        (Scale("web", 7), 10),
        (Delete(("db",)), 7),
        (Burst("task", 5), 12),
        (Cordon(("node-0",)), 12),
        (Burst("task", 5), 17),
        (Replay("t.csv", trace), 21),
        (Scale("web", 0), 14),
    ]
    actions, brought = [one for one, _ in steps], {"web": 2, "db": 3, "lone": 1}
    demand = Demand(brought)
    for action, total in steps:
        action.ask(demand)
        assert demand.total == total

    assert demand.of(["task", "job"]) == 14
    assert demand.asked == {"task": 10, "job": 4}
    # Pods that were deleted before do not count.
    assert count_most_pods(actions, brought) == 21
    assert count_most_pods_each(actions, brought) == {
        "web": 7, "db": 3, "task": 10, "job": 4,
    }  # fmt: skip
