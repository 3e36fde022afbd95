"""Commands that cannot be meant, or cannot be done here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli import app

REFUSALS: dict[str, list[list[str]]] = yaml.safe_load(Path(__file__).with_name("refusals.yaml").read_text("utf-8"))


@pytest.mark.parametrize(("command", "said"), [case for cases in REFUSALS.values() for case in cases])
def test_what_makes_no_sense_is_told_at_once(
    command: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not after an hour, nor once a cluster was made for it."""
    monkeypatch.setenv("STOWAGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("STOWAGE_CLUSTERS", raising=False)
    monkeypatch.chdir(tmp_path)

    result = CliRunner().invoke(app, command.split())

    assert isinstance(result.exception, StowageError | SystemExit)
    assert result.exit_code != 0
    assert said in f"{result.output} {result.exception}"
    assert [*tmp_path.glob("cache/clusters/[!.]*")] == []


def test_the_schema_of_traces_is_printed() -> None:
    """For who writes traces with another program."""
    result = CliRunner().invoke(app, ["record", "--schema"])

    assert result.exit_code == 0
    Draft202012Validator.check_schema(json.loads(result.output))
