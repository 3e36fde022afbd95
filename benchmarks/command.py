"""How a benchmark's command ends: with its table, or with what went wrong in a line."""

from __future__ import annotations

from collections.abc import Callable

import typer

from stowage_testbed.cluster.interruption import ending_cleanly
from stowage_testbed.errors import StowageError

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
        raise typer.Exit(1) from None
