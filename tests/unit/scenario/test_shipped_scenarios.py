"""The scenarios and the schema that stand in the repository."""

import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from stowage_testbed.cli import app
from stowage_testbed.scenario.load import find_files, load_folder
from stowage_testbed.scenario.schema import make_strict_schema, write_editor_schema

SCENARIOS = Path(__file__).parents[3] / "scenarios"
FILES = find_files(SCENARIOS)


def test_the_shipped_scenarios_have_no_issues() -> None:
    """They are what a new author copies from."""
    names = {scenario.name for scenario in load_folder(SCENARIOS)}
    assert names >= {
        "burst/replicaset",
        "paper/already-optimal",
        "paper/cross-node-preemption",
        "paper/figure-1",
        "paper/priorities",
        "paper/random-32",
    }


def test_the_committed_schema_is_the_current_one() -> None:
    """Editors read the file; `stowage scenario schema --write` brings it up to date."""
    committed = (SCENARIOS / "schema.json").read_text("utf-8")
    assert committed == write_editor_schema()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_editors_accept_the_shipped_scenarios(path: Path) -> None:
    """The editors' schema sees placeholders where the loader sees values."""
    schema = json.loads((SCENARIOS / "schema.json").read_text("utf-8"))
    text = path.read_text("utf-8")

    plain = json.loads(json.dumps(yaml.safe_load(text)))

    assert [
        error.message for error in Draft202012Validator(schema).iter_errors(plain)
    ] == []
    assert text.startswith("# yaml-language-server: $schema=../schema.json\n")


def test_both_schemas_are_valid_schemas() -> None:
    """A mistake in the schema would make every check of it vacuous."""
    Draft202012Validator.check_schema(make_strict_schema())
    Draft202012Validator.check_schema(json.loads(write_editor_schema()))


def test_every_key_is_described_for_editors() -> None:
    """Completion without a word of explanation helps nobody."""
    assert list(_undescribed(make_strict_schema(), "")) == []


def test_the_catalogue_is_printed() -> None:
    """`stowage scenario list` is the one catalogue: it cannot fall behind."""
    result = CliRunner().invoke(app, ["scenario", "list", "--folder", str(SCENARIOS)])

    assert result.exit_code == 0
    assert "paper/priorities@mixed" in result.output


def test_validation_counts_what_it_checked() -> None:
    """Silence could also mean that nothing was found."""
    result = CliRunner().invoke(app, ["scenario", "validate", str(SCENARIOS / "paper")])

    assert result.exit_code == 0
    assert "7 scenarios in 5 files, no issues" in result.output


def _undescribed(schema: object, place: str) -> list[str]:
    if not isinstance(schema, dict):
        return []
    found = []
    for name, inner in schema.get("properties", {}).items():
        if "description" not in inner:
            found.append(f"{place}.{name}")
        found += _undescribed(inner, f"{place}.{name}")
    for keyword in ("items", "additionalProperties"):
        found += _undescribed(schema.get(keyword), f"{place}.{keyword}")
    for name, inner in schema.get("$defs", {}).items():
        found += _undescribed(inner, f"{place}.{name}")
    return found
