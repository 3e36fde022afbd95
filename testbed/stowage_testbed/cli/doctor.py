"""`stowage doctor`: which backends work here, why not, and what to install."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from stowage_testbed.cli.main import Minor, app
from stowage_testbed.cluster.backend import Backend

FAULTY = 1


@app.command()
def doctor(
    backends: Annotated[list[Backend] | None, typer.Argument(help="Which; all of them without.")] = None,
    *,
    kubernetes: Minor = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show which kinds of cluster work here, and what the others lack.

    Exits with 1 if one that was named does not, or if none works.
    """
    from stowage_testbed.cluster.choice import fitness_of  # noqa: PLC0415 - only here

    found = [fitness_of(one, minor=kubernetes) for one in backends or list(Backend)]
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in found], indent=2))
    else:
        for one in found:
            word = "does not work here" if one.unavailable_reasons else "works"
            typer.echo(f"{one.backend}: {word}")
            for reason in one.unavailable_reasons:
                typer.echo(f"  - {reason}")
            for note in one.notes:
                typer.echo(f"    {note}")
    fit = [one for one in found if not one.unavailable_reasons]
    if len(fit) < len(found) if backends else not fit:
        raise typer.Exit(FAULTY)
