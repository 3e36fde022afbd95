"""`stowage fault`: break things on purpose, again and again, and count what is lost."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli.main import FAILED, app, reading_input
from stowage_testbed.cli.scenario import SCENARIOS, Folder

FAULTS = "faults/*"
_SHARD = re.compile(r"([1-9]\d*)/([1-9]\d*)")


@app.command()
def fault(
    scenarios: Annotated[
        list[str] | None,
        typer.Argument(help="Files, folders or names; nothing means faults/*."),
    ] = None,
    *,
    folder: Folder = SCENARIOS,
    tries: Annotated[
        int | None, typer.Option(min=1, help="Of each; without, its own number.")
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Everything that is drawn comes from it.")
    ] = 1,
    shard: Annotated[
        str, typer.Option(help="i/n: only every n-th scenario, from the i-th on.")
    ] = "1/1",
    results: Annotated[Path, typer.Option(help="Folder of the results.")] = Path(
        "results"
    ),
) -> None:
    """Try scenarios with a fault; resumable, and tries of several calls add up.

    Exits with 0 if nothing was lost in any try, 1 if something was, 2 if the input is
    at fault, 3 if the tries could not go on: a process of the cluster ended that no
    fault was to end, or a disk is full.
    """
    # The client takes most of a second to import, which `stowage --help` does not need.
    from stowage_testbed.faults.session import run_faults  # noqa: PLC0415
    from stowage_testbed.run.request import choose_faults  # noqa: PLC0415
    from stowage_testbed.run.session import check_tools  # noqa: PLC0415

    with reading_input():
        match = _SHARD.fullmatch(shard)
        if match is None or int(match[1]) > int(match[2]):
            raise StowageError(f"--shard {shard!r} is not of the form 1/2")
        chosen = choose_faults(scenarios or (FAULTS,), folder=folder)
        check_tools()
    own = chosen[int(match[1]) - 1 :: int(match[2])]
    typer.echo(f"seed {seed}: {len(own)} scenarios", err=True)
    failed = run_faults(
        own, seed, results, lambda line: typer.echo(line, err=True), tries
    )
    typer.echo(f"{len(own)} scenarios, {len(failed)} tries in which something was lost")
    raise typer.Exit(FAILED if failed else 0)
