"""`stowage plan`: approve or abort a PackingPlan."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.cli.main import app
from stowage_testbed.cli.plan_control import PlanApi
from stowage_testbed.cli.which_cluster import Cluster, Context, Kubeconfig, new_client

plan_app = typer.Typer(name="plan", help="Approve or abort the scheduler's plans.", no_args_is_help=True)
app.add_typer(plan_app)

Name = Annotated[str, typer.Argument(help="The plan's name.")]


@plan_app.command()
def approve(name: Name, *, cluster: Cluster = None, context: Context = None, kubeconfig: Kubeconfig = None) -> None:
    """Have a proposed plan carried out as it is, if it still fits the cluster."""
    with _plans(cluster, context, kubeconfig) as plans:
        plans.approve(name)
    typer.echo(f"plan {name} is approved; follow it with: kubectl get packingplan {name} -w")


@plan_app.command()
def abort(name: Name, *, cluster: Cluster = None, context: Context = None, kubeconfig: Kubeconfig = None) -> None:
    """Give a plan up; what was moved already stays where it is."""
    with _plans(cluster, context, kubeconfig) as plans:
        plans.abort(name)
    typer.echo(f"plan {name} is given up")


@contextmanager
def _plans(cluster: str | None, context: str | None, kubeconfig: Path | None) -> Iterator[PlanApi]:
    with new_client(cluster, context, kubeconfig) as client:
        yield PlanApi(client)
