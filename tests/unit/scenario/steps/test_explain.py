"""What `stowage scenario explain` and `new` say and write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from stowage_testbed.cli import app
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.steps.action import Surroundings
from stowage_testbed.scenario.steps.kinds import ACTIONS

SCENARIOS = Path(__file__).parents[4] / "scenarios"
WORDS = [
    (kind, plain, case["words"])
    for case in yaml.safe_load(Path(__file__).with_name("words.yaml").read_text())
    for kind, plain in case["step"].items()
]


@pytest.mark.parametrize(("kind", "plain", "words"), WORDS)
def test_a_step_is_reported_with_its_defaults(kind: str, plain: Any, words: str) -> None:
    """What is not written happens all the same."""
    assert ACTIONS[kind].read(plain, Surroundings()).in_words() == words


def test_every_kind_of_step_is_reported() -> None:
    """A step without words would end `explain` in a traceback."""
    assert {kind for kind, _, _ in WORDS} == ACTIONS.keys()


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
    assert [path] == list(path.parent.iterdir())
    bad = new("Scale Up", tmp_path)
    assert "write a topic and a behaviour" in str(bad.exception)
    assert [path.parent] == list(tmp_path.iterdir())
