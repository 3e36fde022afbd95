"""`stowage try`: from nothing to a plan that was carried out, without a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.cli.main import Minor, app, reading_input

MOST_NODES = 200
"""With more, the terminal is silent for minutes: that is what scenarios are for."""


@app.command(name="try")
def try_(
    *,
    nodes: Annotated[int, typer.Option(min=2, max=MOST_NODES, help="How many nodes.")] = 16,
    seed: Annotated[int, typer.Option(min=0, help="The pods' sizes are drawn from it.")] = 1,
    keep_cluster: Annotated[bool, typer.Option("--keep-cluster", help="Leave the cluster up.")] = False,
    kubernetes: Minor = None,
    results: Annotated[Path, typer.Option(help="Folder of the results bundles.")] = Path("results"),
) -> None:
    """Fill a cluster of fake nodes until pods wait, and let the optimiser pack it.

    The pods together request all that the nodes have. The scheduler, which places one
    after the other, leaves some without a node; what the optimiser makes of it is shown
    here and as a page. Tools that are not there yet are built first.

    Exits as `stowage run` does.
    """
    # The client takes most of a second to import, which `stowage --help` does not need.
    from stowage_testbed.cli.try_session import TrySession  # noqa: PLC0415

    with reading_input():
        session = TrySession(results, kubernetes)
    raise typer.Exit(session.try_out(nodes, seed, keep_cluster=keep_cluster))
