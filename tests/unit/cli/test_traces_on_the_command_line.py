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
    ("arguments", "said"),
    [
        ((), "--out names the file"),
        (("--out", "day.csv"), "ends in"),
        (("--out", "day.jsonl", "--for", "long"), "no time"),
        (("--out", "day.jsonl", "--cluster", "a", "--context", "b"), "leave out"),
    ],
)
def test_what_cannot_be_recorded_is_told_at_once(
    arguments: tuple[str, ...], said: str
) -> None:
    """Not after an hour."""
    code, told = call("record", *arguments)

    assert code == 2
    assert said in told


@pytest.mark.parametrize(
    "arguments", [("compare",), ("compare", "a", "--trace", "b.jsonl")]
)
def test_a_scenario_or_a_trace_is_compared(arguments: tuple[str, ...]) -> None:
    """One of the two, and not both."""
    code, told = call(*arguments)

    assert code == 2
    assert "name a scenario, or a trace" in told


def test_a_trace_is_run_alone(tmp_path: Path) -> None:
    """Its results would be lost among others."""
    code, told = call("run", "a", "--trace", str(tmp_path / "b.jsonl"))

    assert code == 2
    assert "name scenarios, or a trace" in told


def test_a_trace_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Before a cluster is made for it."""
    code, told = call("run", "--trace", str(tmp_path / "none.jsonl"))

    assert code == 2
    assert "No such file" in told
