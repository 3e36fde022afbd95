"""What all commands share: how much is measured, and how they end."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import typer

from stowage_testbed.base.errors import InputError, StowageError
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


def write_figures(path: Path, figures: Sequence[Figure], about: Mapping[str, Any] | None = None, **details: Any) -> str:
    """Write a benchmark's results as JSON, and return the figures as a table."""
    content = {
        "environment": {**environment(), **(about or {})},
        "figures": [one.document() for one in figures],
        **details,
    }
    write_whole(path, json.dumps(content, indent=1) + "\n")
    return f"{table(figures)}\n\nfigures: {path}"


class ScopeName(StrEnum):
    """How much is measured."""

    SMOKE = "smoke"
    SHORT = "short"
    DEFAULT = "default"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a run covers; each benchmark adds what makes its own small or large."""

    name: str


ScopeT = TypeVar("ScopeT", bound=Scope)


def find_scope(scopes: Sequence[ScopeT], name: ScopeName) -> ScopeT:
    """Return the scope of that name."""
    for scope in scopes:
        if scope.name == name:
            return scope
    known = ", ".join(scope.name for scope in scopes)
    raise InputError(f"this benchmark has no scope {name}; choose one of {known}")
