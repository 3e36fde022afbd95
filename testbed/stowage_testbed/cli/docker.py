"""`stowage docker -- COMMAND`: a command that finds a Docker engine."""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

import typer

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli.main import app
from stowage_testbed.docker.engine import engine_unavailable_reason
from stowage_testbed.docker.requirements import NAMESPACES, unstartable_reasons
from stowage_testbed.docker.with_engine import OPTIONAL


@app.command()
def docker(
    command: Annotated[list[str], typer.Argument(help="The command, after --.")],
    *,
    optional: Annotated[
        bool,
        typer.Option(help="Without Docker, say so and run the command all the same."),
    ] = False,
) -> None:
    """Run a command beside a Docker engine: the one that answers, or one of its own.

    An engine of its own lives as long as the command, in a network of its own that
    nobody else sees and that reaches nothing; only its images stay.
    """
    reason = engine_unavailable_reason()
    if not reason:
        _become(command)
    reasons = unstartable_reasons()
    if not reasons:
        beside = [sys.executable, "-m", "stowage_testbed.docker.with_engine"]
        flags = [OPTIONAL] if optional else []
        _become([*NAMESPACES, *beside, *flags, "--", *command])
    error = StowageError(
        "no Docker engine answers, and none can be started: "
        + "; ".join([reason, *reasons])
    )
    if not optional:
        raise error
    typer.echo(f"stowage: {error}; what needs one is left out", err=True)
    _become(command)


def _become(command: list[str]) -> NoReturn:
    try:
        os.execvp(command[0], command)  # noqa: S606 - there is no shell
    except OSError as error:
        typer.echo(f"stowage: {command[0]}: {error.strerror}", err=True)
        raise typer.Exit(127) from error
