"""`stowage plan`: list PackingPlans, look at them, approve them, give them up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stowage_testbed.api_client import new_api_client
from stowage_testbed.cli.main import app
from stowage_testbed.cli.whatif import PriceFile, PriceLabel, prices_asked
from stowage_testbed.cluster.listing import find_cluster
from stowage_testbed.errors import InputError
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.plan import PlanApi, page_of, table_of
from stowage_testbed.prices import Prices

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

    from stowage_testbed.whatif.plan_savings import PlanSaving

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
Context = Annotated[
    str | None, typer.Option(help="Context of the kubeconfig; else its own choice.")
]
Kubeconfig = Annotated[
    Path | None, typer.Option(help="Another kubeconfig than kubectl would take.")
]


@plan_app.command(name="list")
def list_(
    *,
    cluster: Cluster = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    prices: PriceFile = None,
    price_label: PriceLabel = None,
) -> None:
    """List all plans, the newest first: what each would do or did, and its state.

    With prices, also what each saves by the nodes that it empties.
    """
    asked = prices_asked(prices, price_label)
    with _client(cluster, context, kubeconfig) as client:
        plans = PlanApi(client).plans()
        savings = _savings(client, plans, asked) if asked else {}
    texts = {name: one.short() for name, one in savings.items()}
    typer.echo(table_of(plans, texts if asked else None))


@plan_app.command()
def show(
    name: Newest = None,
    *,
    cluster: Cluster = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    prices: PriceFile = None,
    price_label: PriceLabel = None,
) -> None:
    """Print a plan: what it does, how far it has come, and what was turned down.

    With prices, also which nodes it empties, and what that saves.
    """
    asked = prices_asked(prices, price_label)
    with _client(cluster, context, kubeconfig) as client:
        plan = PlanApi(client).plan(name)
        savings = _savings(client, [plan], asked) if asked else {}
    typer.echo(page_of(plan))
    for one in savings.values():
        typer.echo(f"\n{one.sentence()}")


@plan_app.command()
def approve(
    name: Name,
    *,
    cluster: Cluster = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Have a proposed plan carried out as it is, if it still fits the cluster."""
    with _client(cluster, context, kubeconfig) as client:
        PlanApi(client).approve(name)
    typer.echo(f"plan {name} is approved; follow it with: stowage plan show {name}")


@plan_app.command()
def abort(
    name: Name,
    *,
    cluster: Cluster = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Give a plan up; what was moved already stays where it is."""
    with _client(cluster, context, kubeconfig) as client:
        PlanApi(client).abort(name)
    typer.echo(f"plan {name} is given up")


@contextmanager
def _client(
    cluster: str | None, context: str | None, kubeconfig: Path | None
) -> Iterator[ApiClient]:
    file = kubeconfig_of(cluster, context, kubeconfig)
    with new_api_client(file, context) as client:
        yield client


def kubeconfig_of(
    cluster: str | None, context: str | None, kubeconfig: Path | None
) -> Path | None:
    """Return the kubeconfig of the cluster that was asked for; none for kubectl's own.

    Raises
    ------
    InputError
        Both a cluster of the testbed and another one were asked for.
    """
    if cluster is None:
        return kubeconfig
    if context is not None or kubeconfig is not None:
        raise InputError(
            "--cluster names a cluster of the testbed, which has its own "
            "kubeconfig: leave out --context and --kubeconfig"
        )
    return find_cluster(cluster).workdir / "kubeconfig.yaml"


def _savings(
    client: ApiClient, plans: Sequence[JsonObject], prices: Prices
) -> dict[str, PlanSaving]:
    """Return what plans save, by name, those left out that empty and fill no node."""
    # It imports numpy, which takes time that other commands do not need.
    from stowage_testbed.whatif.plan_savings import plan_savings  # noqa: PLC0415

    return plan_savings(client, plans, prices)
