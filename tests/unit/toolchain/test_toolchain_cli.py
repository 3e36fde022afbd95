"""`stowage tools`: what it prints, and how little it loads."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli import app

HEAVY = ["kubernetes", "ortools", "pandas", "numpy", "matplotlib", "grpc"]


def test_a_start_of_the_command_line_loads_nothing_heavy() -> None:
    """Each takes half a second; with all in place an install takes less than one."""
    code = (
        "import sys, stowage_testbed.cli;"
        f"print([m for m in {HEAVY} if m in sys.modules])"
    )

    run = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )

    assert run.stdout == "[]\n"


@pytest.mark.usefixtures("cache")
def test_the_list_shows_what_is_missing() -> None:
    """Versions too, for those who report a bug."""
    result = CliRunner().invoke(app, ["tools", "list"])

    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["etcd", "v3.7.3", "1.37", "default", "missing"] in lines
    assert ["stowage-scheduler", "v1.36.3", "1.36", "default", "missing"] in lines
    assert ["koord-scheduler", "v1.8.0", "-", "compare", "missing"] in lines


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["install", "etdc"], "there is no tool 'etdc'; the tools are etcd, "),
        (["path", "etcd"], "run: stowage tools install etcd"),
        (
            ["install", "--source", "go", "--mirror", "http://127.0.0.1"],
            "--pins and --mirror are for releases",
        ),
        (["install", "--group", "compare", "etcd"], "name tools, a group with --group"),
        (["install", "--for", "run", "etcd"], "or a command with --for"),
        (["install", "--group", "comapre"], "no group of tools 'comapre'; the groups"),
    ],
)
def test_an_issue_is_a_message_with_the_way_out(
    arguments: list[str], said: str
) -> None:
    """The command line prints those without a traceback."""
    result = CliRunner().invoke(app, ["tools", *arguments])

    assert isinstance(result.exception, StowageError)
    assert said in str(result.exception)
