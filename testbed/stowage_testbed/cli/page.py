"""`stowage page`: a cluster in a browser, as it is and as it was."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.files import write_whole
from stowage_testbed.cli.main import app, reading_input
from stowage_testbed.cli.plan_control import PlanApi
from stowage_testbed.cli.which_cluster import Cluster, Context, Kubeconfig, new_client

if TYPE_CHECKING:
    from kubernetes.client import ApiClient


@app.command()
def page(
    *,
    cluster: Cluster = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port of 127.0.0.1; any free one without.")] = None,
    save: Annotated[
        Path | None, typer.Option(help="At the end, write the page with all that was seen to a file.")
    ] = None,
    for_: Annotated[
        str | None, typer.Option("--for", help="How long, as in 90s, 20m or 1h; until Ctrl-C without it.")
    ] = None,
    allow_approve: Annotated[
        bool,
        typer.Option("--allow-approve", help="Show buttons that approve and abort plans, where you have the right to."),
    ] = False,
) -> None:
    """Show a cluster in a browser: nodes that fill, pods that wait and why, plans.

    The cluster is only listed and watched. The page is for browsers of this machine
    that are given the printed address; a slider goes back through what was seen.
    """
    from stowage_testbed.compare.request import read_time  # noqa: PLC0415 - takes most of a second

    with reading_input():
        for_s = None if for_ is None else read_time(for_)
        client = new_client(cluster, context, kubeconfig)
    with client:
        name = cluster or context or client.configuration.host
        show_page(client, name, port=port or 0, save=save, for_s=for_s, allow_approve=allow_approve)


def show_page(
    api: ApiClient,
    name: str,
    *,
    port: int = 0,
    save: Path | None = None,
    for_s: float | None = None,
    allow_approve: bool = False,
) -> None:
    """Show a cluster until Ctrl-C or until the time is over.

    Raises
    ------
    StowageError
        The cluster may not be seen, the port is taken, or the file cannot be written.
    """
    from stowage_testbed.cluster.interruption import handling  # noqa: PLC0415 - takes most of a second
    from stowage_testbed.live.plans import may_change_plans  # noqa: PLC0415
    from stowage_testbed.live.server import Control, LiveServer, serving  # noqa: PLC0415
    from stowage_testbed.live.watching import LiveWatch  # noqa: PLC0415

    stop = threading.Event()
    watch = LiveWatch(api, lambda text: typer.echo(f"stowage: {text}", err=True))
    control = Control(PlanApi(api), lambda: may_change_plans(api)) if allow_approve else None
    server = LiveServer(watch, name, control)
    with handling(dict.fromkeys((signal.SIGINT, signal.SIGTERM), lambda *_: stop.set())):
        watch.begin()
        try:
            with serving(server, port) as address:
                typer.echo(f"page: {address}")
                stop.wait(for_s)
        finally:
            watch.stop()
        if save is not None:
            try:
                write_whole(save, server.saved())
            except OSError as error:
                why = f"{save} cannot be written: {error.strerror}; name another file with --save"
                raise StowageError(why) from error
            typer.echo(f"saved: {save.resolve().as_uri()}")
