"""What `stowage scenario explain` and `new` say and write."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stowage_testbed.cli import app
from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.hpa.settings import FULL, Hold
from stowage_testbed.run.timeouts import DEFAULT_TIMEOUTS
from stowage_testbed.scenario.arrivals.process import ArrivalProcess, Lifetime
from stowage_testbed.scenario.expectations import ExpectedMoment
from stowage_testbed.scenario.explain import explain
from stowage_testbed.scenario.load import load_file, load_folder
from stowage_testbed.scenario.steps import applying, arriving, measuring, nodes, waiting
from stowage_testbed.scenario.steps.action import Action
from stowage_testbed.scenario.steps.drain import Drain
from stowage_testbed.scenario.steps.kinds import KINDS

SCENARIOS = Path(__file__).parents[4] / "scenarios"
POOL = NodePool("late", 2, 500, 10**9, zones=("a",), labels={"x": "y"})

WORDS = [
    (applying.Apply(("a", "b", "c")), "create a, b and c"),
    (applying.Delete(("a",)), "delete a"),
    (applying.Scale("a", 1), "scale a to 1 pod"),
    (
        arriving.Burst("a", 2),
        (
            "create 2 pods like a's without controller, all as fast as the API server "
            "takes them; they run until they are deleted"
        ),
    ),
    (
        arriving.Burst(
            "a", 9, ArrivalProcess("gamma", 5, 2.5, 7), Lifetime("gamma", 3, 2)
        ),
        (
            "create 9 pods like a's without controller, 5 a second, at "
            "gamma-distributed intervals (coefficient of variation 2.5), drawn from "
            "seed 7; each runs 3 s on average (gamma, coefficient of variation 2, "
            "drawn from seed 0) and is done"
        ),
    ),
    (
        arriving.Burst("a", 1, ArrivalProcess("constant", 5), Lifetime("constant", 3)),
        (
            "create 1 pod like a's without controller, 5 a second, at equal intervals; "
            "each runs 3 s and is done"
        ),
    ),
    (
        arriving.Replay("t.csv", (), 2.0),
        (
            "create 0 pods of 0 owners when they came in t.csv, 2 times as fast as "
            "recorded, the last after 0 s"
        ),
    ),
    (waiting.Wait("bound"), "wait until all pods have a node"),
    (
        waiting.Wait("refused", ("a",), 1),
        ("wait until a pod of a has been found unschedulable"),
    ),
    (waiting.Wait("gone", ("a",)), "wait until no pod of a is left"),
    (
        waiting.Wait("phase", ("a",), phase="Available", stable_s=2),
        ("wait until a is Available and no pod has changed for 2 s"),
    ),
    (applying.Evict("a", 2), "evict 2 bound pods of a"),
    (nodes.Cordon(("n",)), "close n for new pods"),
    (nodes.Uncordon(("n",)), "open n for new pods again"),
    (
        Drain(("n", "m")),
        "close n and m for new pods and evict all pods there, as their budgets allow",
    ),
    (
        nodes.TaintNodes(("n",), "k", "NoSchedule", "v"),
        ("taint n with k=v:NoSchedule"),
    ),
    (nodes.UntaintNodes(("n",), "k"), "take the taint k, whatever its effect, from n"),
    (
        nodes.AddNodes(POOL),
        (
            "add 2 nodes (late-0 to late-1) with cpu 500m, memory 1G, 110 pods, in "
            "turn in zones a, labelled x=y, and wait until they are ready"
        ),
    ),
    (
        nodes.RemoveNodes(("n", "m")),
        ("remove n and m with their pods, and wait until all are gone"),
    ),
    (
        applying.Usage("a", 250, 64 * 2**20),
        ("let each pod that a has now use cpu 250m and memory 64Mi"),
    ),
    (applying.TriggerPlan("p"), "ask for a plan named p that is carried out"),
    (
        measuring.Overload(replace(FULL, hold=Hold(whole=False)), "recovered"),
        (
            "overload a web service of 3 to 20 replicas: add clients from 10 to 100 by "
            "10 every 30 s until its p99 is above 1 s or its errors are above 0.01, "
            "then hold the load for 900 s in windows of 30 s, or until it has "
            "recovered; expected: recovered"
        ),
    ),
    (measuring.Measure("start"), "start measuring"),
    (
        waiting.Check(ExpectedMoment(), 1),
        ("expect what follows to hold and no pod has changed for 1 s"),
    ),
]


@pytest.mark.parametrize(("action", "words"), WORDS, ids=str)
def test_a_step_is_reported_with_its_defaults(action: Action, words: str) -> None:
    """What is not written happens all the same."""
    assert action.in_words() == words


def test_every_kind_of_step_is_reported() -> None:
    """A step without words would end `explain` in a traceback."""
    assert {type(action) for action, _ in WORDS} == set(KINDS.values())


def test_every_shipped_scenario_can_be_explained() -> None:
    """With variants, issues and generated instances."""
    for scenario in load_folder(SCENARIOS):
        text = explain(scenario, DEFAULT_TIMEOUTS.step_s)

        assert text.startswith(scenario.scenario_id)


def test_an_explanation_names_steps_lines_deadlines_and_expectations() -> None:
    """It is read beside the file."""
    (scenario,) = load_file(SCENARIOS / "reservation" / "scale-up.yaml")

    lines = explain(scenario, lambda _scenario, _kind, _nodes: 7.0).splitlines()

    line = next(s.line for s in scenario.steps if s.number == 2)
    assert f"  2. wait until peak is Available, at most 7 s [line {line}]" in lines
    assert "       pods without a node: 1 of crowd, and no others" in lines
    assert "  pods that took of peak: 2 of shop" in lines
    assert "  they took cpu 200m, memory 3G" in lines
    assert "At the end, within 7 s and at rest" in lines


def test_the_command_explains_a_scenario_and_its_variants() -> None:
    """One name is the default run and its variants, as for `run`."""
    result = CliRunner().invoke(
        app, ["scenario", "explain", "burst/arrivals", "--folder", str(SCENARIOS)]
    )

    assert result.exit_code == 0
    assert "burst/arrivals\n" in result.output
    assert "burst/arrivals@small\n" in result.output


def test_a_new_scenario_has_no_issues_and_is_full_of_comments(tmp_path: Path) -> None:
    """The first thing an author sees is what works."""
    result = CliRunner().invoke(
        app, ["scenario", "new", "web/scale-up", "--folder", str(tmp_path)]
    )

    path = tmp_path / "web" / "scale-up.yaml"
    text = path.read_text("utf-8")
    assert result.exit_code == 0
    assert str(path) in result.output
    assert text.startswith("# yaml-language-server: $schema=../schema.json\n")
    assert [s.scenario_id for s in load_file(path)] == [
        "web/scale-up",
        "web/scale-up@peak",
    ]


def test_a_new_scenario_overwrites_nothing(tmp_path: Path) -> None:
    """Somebody's work of an afternoon may stand there."""
    asked = ["scenario", "new", "web/scale-up", "--folder", str(tmp_path)]
    CliRunner().invoke(app, asked)
    path = tmp_path / "web" / "scale-up.yaml"
    path.write_text("mine", "utf-8")

    result = CliRunner().invoke(app, asked)

    assert "there is already a file" in str(result.exception)
    assert path.read_text("utf-8") == "mine"


def test_a_name_that_no_scenario_can_bear_is_refused(tmp_path: Path) -> None:
    """Otherwise `validate` would reject the file at once."""
    result = CliRunner().invoke(
        app, ["scenario", "new", "Scale Up", "--folder", str(tmp_path)]
    )

    assert "write a topic and a behaviour" in str(result.exception)
    assert list(tmp_path.iterdir()) == []
