"""The scenarios and the schema that stand in the repository."""

import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from stowage_testbed.cli import app
from stowage_testbed.metrics.catalogue import metrics_of
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.scenario.load import find_files, load_folder
from stowage_testbed.scenario.model import GENERAL
from stowage_testbed.scenario.schema import explain_scenario, make_strict_schema, write_editor_schema

SCENARIOS = Path(__file__).parents[3] / "scenarios"
FILES = find_files(SCENARIOS)


def test_the_shipped_scenarios_have_no_issues_and_can_be_explained() -> None:
    """They are what a new author copies from."""
    found = load_folder(SCENARIOS)
    text = [explain_scenario(one) for one in found]

    assert {one.name for one in found} >= {"burst/replicaset", "paper/figure-1"}
    assert all(f"\nname: {one.scenario_id}\n" in said for said, one in zip(text, found, strict=True))


def test_the_committed_schema_is_the_current_one() -> None:
    """Editors read the file; `stowage scenario schema` prints it, and brings it up to date."""
    committed = (SCENARIOS / "schema.json").read_text("utf-8")
    assert committed == write_editor_schema()
    # A mistake in a schema would make every check by it vacuous.
    Draft202012Validator.check_schema(make_strict_schema())
    Draft202012Validator.check_schema(json.loads(committed))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_editors_accept_the_shipped_scenarios(path: Path) -> None:
    """The editors' schema sees placeholders where the loader sees values."""
    text = path.read_text("utf-8")
    plain = json.loads(json.dumps(yaml.safe_load(text)))

    validator = Draft202012Validator(json.loads(write_editor_schema()))
    assert [error.message for error in validator.iter_errors(plain)] == []
    assert text.startswith("# yaml-language-server: $schema=../schema.json\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        # It is the one catalogue: it cannot fall behind.
        (["list", str(SCENARIOS)], "paper/priorities@mixed"),
        # Silence could also mean that nothing was found.
        (["validate", str(SCENARIOS / "paper")], "7 scenarios in 5 files, no issues"),
    ],
    ids=["list", "validate"],
)
def test_the_commands_say_what_there_is(arguments: list[str], said: str) -> None:
    """They need no cluster."""
    result = CliRunner().invoke(app, ["scenario", *arguments])

    assert result.exit_code == 0
    assert said in result.output


def test_the_general_headlines_are_metrics() -> None:
    """A name that is none would never get a verdict, and never be missed."""
    record = RunRecord("a/b", "default", "own", 1, (), (), 1.0)

    assert set(GENERAL) <= {metric.name for metric in metrics_of(record)}
