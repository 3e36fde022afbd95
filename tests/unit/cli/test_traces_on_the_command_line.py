"""Commands that write and read traces, before they ask any cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from stowage_testbed.cli import app


def call(*arguments: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, list(arguments))
    return found.exit_code, found.output


def test_the_schema_is_printed() -> None:
    """For who writes traces with another program."""
    code, said = call("record", "--schema")
    assert code == 0
    Draft202012Validator.check_schema(json.loads(said))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("record", "--out names the file"),
        ("record --out day.csv", "ends in"),
        ("record --out day.jsonl --for long", "no time"),
        ("record --out day.jsonl --cluster a --context b", "leave out"),
        ("compare", "name a scenario, or a trace"),
        ("compare a --trace b.jsonl", "name a scenario, or a trace"),
        ("run a --trace b.jsonl", "name scenarios, or a trace"),
        ("run --trace none.jsonl", "No such file"),
    ],
)
def test_what_makes_no_sense_is_told_at_once(
    command: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not after an hour, nor once a cluster was made for it."""
    monkeypatch.chdir(tmp_path)
    code, told = call(*command.split())
    assert code == 2
    assert said in told
