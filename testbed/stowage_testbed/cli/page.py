"""`stowage page`: a cluster in a browser, as it is and as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.cli.main import app, reading_input
from stowage_testbed.cli.which_cluster import Cluster, Context, Kubeconfig, new_client

Port = Annotated[int | None, typer.Option(min=1, max=65535, help="Port of 127.0.0.1; any free one without.")]
Save = Annotated[Path | None, typer.Option(help="At the end, write the page with all that was seen to a file.")]
AllowApprove = Annotated[
    bool,
    typer.Option("--allow-approve", help="Show buttons that approve and abort plans, where you have the right to."),
]


@app.command()
def page(
    *,
    cluster: Cluster = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    port: Port = None,
    save: Save = None,
    for_: Annotated[
        str | None, typer.Option("--for", help="How long, as in 90s, 20m or 1h; until Ctrl-C without it.")
    ] = None,
    allow_approve: AllowApprove = False,
) -> None:
    """Show a cluster in a browser: nodes that fill, pods that wait and why, plans.

    The cluster is only listed and watched. The page is for browsers of this machine
    that are given the printed address; a slider goes back through what was seen.
    """
    # The client takes most of a second to import.
    from stowage_testbed.cli.page_session import show_page  # noqa: PLC0415
    from stowage_testbed.compare.request import read_time  # noqa: PLC0415

    with reading_input():
        for_s = None if for_ is None else read_time(for_)
        client = new_client(cluster, context, kubeconfig)
    with client:
        show_page(
            client,
            cluster or context or client.configuration.host,
            port=port or 0,
            save=save,
            for_s=for_s,
            allow_approve=allow_approve,
        )
