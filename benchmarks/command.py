"""How a benchmark's command ends: with figures, or with what went wrong in a line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.whole_file import write_whole
from stowage_testbed.cluster.interruption import ending_cleanly
from stowage_testbed.text.figure import Figure, table
from stowage_testbed.toolchain.environment import environment

Say = Callable[[str], None]


def say(line: str) -> None:
    """Report a step on standard error; the table at the end goes to standard output."""
    typer.echo(line, err=True)


def run_command(act: Callable[[], str]) -> None:
    """Print what a benchmark returns; whatever ends it, no cluster is left behind."""
    try:
        with ending_cleanly():
            typer.echo(act())
    except StowageError as problem:
        typer.echo(f"benchmark: {problem}", err=True)
        raise typer.Exit(problem.exit_code) from None


def write_figures(
    path: Path,
    figures: Sequence[Figure],
    about: Mapping[str, Any] | None = None,
    **details: Any,
) -> str:
    """Write a benchmark's results as JSON, and return the figures as a table."""
    content = {
        "environment": {**environment(), **(about or {})},
        "figures": [one.document() for one in figures],
        **details,
    }
    write_whole(path, json.dumps(content, indent=1) + "\n")
    return f"{table(figures)}\n\nfigures: {path}"
