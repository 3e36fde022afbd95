"""`stowage page`: a cluster as it changes, in the browser."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.cli.main import app
from stowage_testbed.cli.plan import Cluster, Context, Kubeconfig, kubeconfig_of


@app.command()
def page(
    *,
    cluster: Cluster = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of 127.0.0.1; else one that is free.")
    ] = 0,
    allow_changes: Annotated[
        bool,
        typer.Option(
            "--allow-changes",
            help="Let plans be approved and given up from the page, as far as your own "
            "rights go.",
        ),
    ] = False,
) -> None:
    """Show nodes, pods and plans of a cluster as they change, until Ctrl-C.

    Nodes and pods are listed and watched, nothing is written. Only this machine can
    open the page, and only by the address that is printed: it has a token in it.
    """
    file = kubeconfig_of(cluster, context, kubeconfig)
    name = cluster or context or _own_context(file)
    show_page(file, context, name, port=port, changes=allow_changes)


def show_page(
    kubeconfig: Path | None,
    context: str | None,
    name: str,
    *,
    port: int,
    changes: bool,
) -> None:
    """Serve a cluster's page until the user ends it, and say where.

    Parameters
    ----------
    kubeconfig, context
        Name the cluster, as `new_api_client` takes them.
    name
        Of the cluster, for people.
    port, changes
        As `live_page` takes them.
    """
    # The client takes most of a second to import, which `stowage --help` does not need.
    from stowage_testbed.api_client import new_api_client  # noqa: PLC0415
    from stowage_testbed.cluster.interruption import ending_cleanly  # noqa: PLC0415
    from stowage_testbed.live_page.page import live_page  # noqa: PLC0415

    try:
        with (
            ending_cleanly(),
            new_api_client(kubeconfig, context) as api,
            live_page(api, name, port=port, changes=changes) as address,
        ):
            typer.echo(f"page of {name}: {address}")
            typer.echo("  Ctrl-C ends it; nobody but this machine can open it")
            signal.pause()
    except KeyboardInterrupt:
        typer.echo("the page is closed")


def _own_context(kubeconfig: Path | None) -> str:
    from kubernetes.config import (  # noqa: PLC0415 - as in `show_page`
        ConfigException,
        list_kube_config_contexts,
    )

    file = None if kubeconfig is None else str(kubeconfig)
    try:
        _, own = list_kube_config_contexts(file)  # type: ignore[no-untyped-call]
    except ConfigException:
        # Making the client says what is wrong with it.
        return "cluster"
    return str(own["name"])
