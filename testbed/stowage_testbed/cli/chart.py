"""`stowage chart`: the Helm chart that comes with Stowage, for Helm by hand."""

from __future__ import annotations

from typing import Annotated

import typer
import yaml

from stowage_testbed.cli.main import app
from stowage_testbed.cluster.choice import existing_cluster
from stowage_testbed.layout import shipped
from stowage_testbed.optimizer_service.compiled import compile_optimizer

chart_app = typer.Typer(
    name="chart",
    help="What Helm needs to install the chart by hand.",
    no_args_is_help=True,
)
app.add_typer(chart_app)


@chart_app.command()
def path() -> None:
    """Print where the chart is."""
    typer.echo(shipped("charts") / "stowage")


@chart_app.command()
def values(
    cluster: Annotated[
        str, typer.Argument(help="A cluster of `stowage up`.")
    ] = "stowage",
) -> None:
    """Print the values with which the chart runs on a cluster of `stowage up`.

    They only say where its processes and their files are. A cluster whose nodes run
    containers needs none of them.
    """
    # Releases need the client library, which takes long to import.
    from stowage_testbed.helm.values import location_values  # noqa: PLC0415

    running = existing_cluster(cluster)
    if not running.release_location.containers:
        compile_optimizer()
    typer.echo(yaml.safe_dump(location_values(running), sort_keys=False), nl=False)
