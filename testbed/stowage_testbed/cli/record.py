"""`stowage record`: what comes and goes in a cluster, as a trace to replay."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.cli.main import app, reading_input
from stowage_testbed.cli.which_cluster import Cluster, Context, Kubeconfig, new_client
from stowage_testbed.trace.format import check_is_trace, make_schema


@app.command()
def record(
    *,
    out: Annotated[Path | None, typer.Option(help="The file to write, as in day.jsonl.gz; it is written over.")] = None,
    for_: Annotated[
        str | None, typer.Option("--for", help="How long, as in 90s, 20m or 1h; until Ctrl-C without it.")
    ] = None,
    namespace: Annotated[
        list[str] | None, typer.Option(help="Only this namespace, beside what is in none; may be repeated.")
    ] = None,
    cluster: Cluster = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of a line, and end.")] = False,
) -> None:
    """Record what comes and goes in a cluster: pods, controllers, nodes, budgets.

    The cluster is only listed and watched. The file holds what scheduling depends on:
    no images, no commands, no environment, no secrets. It outlives lost connections;
    Ctrl-C ends it in order, and a recorder that is killed loses some seconds.
    """
    if schema:
        typer.echo(json.dumps(make_schema(), indent=2))
        return
    # The client takes most of a second to import.
    from stowage_testbed.cluster.interruption import handling  # noqa: PLC0415
    from stowage_testbed.compare.request import read_time  # noqa: PLC0415
    from stowage_testbed.trace.record import Recorded, record  # noqa: PLC0415

    with reading_input():
        if out is None:
            raise InputError("--out names the file to write, as in day.jsonl.gz")
        check_is_trace(out.name)
        for_s = None if for_ is None else read_time(for_)
        client = new_client(cluster, context, kubeconfig)
    stop = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    def tell_begin(recorded: Recorded) -> None:
        until = "until Ctrl-C" if for_ is None else f"for {for_}"
        typer.echo(f"recording {until}: {out}", err=True)

    def remark(text: str) -> None:
        typer.echo(f"stowage: {text}", err=True)

    # An exception in the middle of a line would break the file.
    with client, handling(dict.fromkeys((signal.SIGINT, signal.SIGTERM), end)):
        try:
            recorded = record(
                client, out, stop=stop, for_s=for_s, namespaces=namespace or (), began=tell_begin, remark=remark
            )
        except OSError as error:
            raise StowageError(f"{out} cannot be written: {error.strerror}; name another file with --out") from error
    losses = f", interrupted {recorded.losses} times" if recorded.losses else ""
    typer.echo(
        f"recorded {recorded.seconds:.0f} s: {recorded.pods} pods, {recorded.lines} "
        f"lines{losses}, {out.stat().st_size} bytes: {out}"
    )
