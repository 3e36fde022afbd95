"""`stowage plan`: look at PackingPlans, approve them, give them up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from stowage_testbed.api_client import new_api_client
from stowage_testbed.cli.main import app
from stowage_testbed.cluster.listing import find_cluster
from stowage_testbed.errors import StowageError
from stowage_testbed.plan import PlanApi, page_of

plan_app = typer.Typer(
    name="plan",
    help="Look at the scheduler's plans, approve them, give them up.",
    no_args_is_help=True,
)
app.add_typer(plan_app)

Name = Annotated[str, typer.Argument(help="The plan's name.")]
Newest = Annotated[
    str | None, typer.Argument(help="The plan's name; left out, the newest.")
]
Cluster = Annotated[
    str | None,
    typer.Option(help="A cluster of the testbed; left out, that of the kubeconfig."),
]


@plan_app.command()
def show(name: Newest = None, *, cluster: Cluster = None) -> None:
    """Print a plan: what it does, how far it has come, and what was turned down."""
    with _plans(cluster) as plans:
        typer.echo(page_of(plans.plan(name)))


@plan_app.command()
def approve(name: Name, *, cluster: Cluster = None) -> None:
    """Have a proposed plan carried out as it is, if it still fits the cluster."""
    with _plans(cluster) as plans:
        plans.approve(name)
    typer.echo(f"plan {name} is approved; follow it with: stowage plan show {name}")


@plan_app.command()
def abort(name: Name, *, cluster: Cluster = None) -> None:
    """Give a plan up; what was moved already stays where it is."""
    with _plans(cluster) as plans:
        plans.abort(name)
    typer.echo(f"plan {name} is given up")


@contextmanager
def _plans(cluster: str | None) -> Iterator[PlanApi]:
    from kubernetes.config import (  # noqa: PLC0415 - it takes long to import
        ConfigException,
    )

    kubeconfig = None
    if cluster is not None:
        kubeconfig = find_cluster(cluster).workdir / "kubeconfig.yaml"
    try:
        client = new_api_client(kubeconfig)
    except ConfigException as error:
        raise StowageError(
            f"no cluster to talk to: {error}; set KUBECONFIG, or name one of the "
            "testbed's own clusters with --cluster"
        ) from error
    with client:
        yield PlanApi(client)
