"""What `stowage scenario explain` and `new` say and write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from stowage_testbed.cli import app
from stowage_testbed.run.timeouts import DEFAULT_TIMEOUTS
from stowage_testbed.scenario.explain import explain
from stowage_testbed.scenario.load import load_file, load_folder
from stowage_testbed.scenario.steps.action import Surroundings
from stowage_testbed.scenario.steps.kinds import ACTIONS

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
