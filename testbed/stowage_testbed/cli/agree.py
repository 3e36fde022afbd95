"""`stowage agree`: random plans before the scheduler's judge and the optimiser's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.cli.main import app

TOOLS = ("stowage-simulate",)
PLANS = 10_000


@app.command()
def agree(
    *,
    plans: Annotated[int, typer.Option(min=1, help="How many are judged.")] = PLANS,
    seed: Annotated[
        int, typer.Option(help="Everything that is drawn comes from it.")
    ] = 1,
    results: Annotated[Path, typer.Option(help="Folder of the results.")] = Path(
        "results"
    ),
) -> None:
    """Ask both whether random plans may be carried out; valid ones and spoiled ones.

    The counts become part of reliability.json, beside the faults.
    """
    # Neither numpy nor the client of the service is needed by other commands.
    from stowage_testbed.cluster.interruption import ending_cleanly  # noqa: PLC0415
    from stowage_testbed.faults.session import run_agreement  # noqa: PLC0415
    from stowage_testbed.toolchain import install_tools  # noqa: PLC0415

    install_tools(TOOLS, quiet=True)
    with ending_cleanly():
        typer.echo(run_agreement(seed, plans, results))
