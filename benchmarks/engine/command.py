"""A command that finds a Docker engine."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import typer

from benchmarks.engine.requirements import NAMESPACES, unstartable_reasons
from benchmarks.engine.with_engine import OPTIONAL
from stowage_testbed.base.errors import StowageError
from stowage_testbed.images.docker_engine import engine_unavailable_reason


def become(command: list[str], *, optional: bool) -> NoReturn:
    """Become a command beside an engine: the one that answers, or one of its own.

    Raises
    ------
    StowageError
        There is neither, and the command does not make do without.
    """
    reason = engine_unavailable_reason()
    if not reason:
        _execute(command)
    reasons = unstartable_reasons()
    if not reasons:
        beside = [sys.executable, "-m", "benchmarks.engine.with_engine"]
        flags = [OPTIONAL] if optional else []
        _execute([*NAMESPACES, *beside, *flags, "--", *command])
    error = StowageError(
        "no Docker engine answers, and none can be started: "
        + "; ".join([reason, *reasons])
    )
    if not optional:
        raise error
    typer.echo(f"benchmark: {error}; what needs one is left out", err=True)
    _execute(command)


def _execute(command: list[str]) -> NoReturn:
    try:
        os.execvp(command[0], command)  # noqa: S606 - there is no shell
    except OSError as error:
        typer.echo(f"benchmark: {command[0]}: {error.strerror}", err=True)
        raise typer.Exit(127) from error
