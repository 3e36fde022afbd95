"""`stowage page` and `stowage record`: watch a cluster, in a browser or into a trace to replay."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.cli.main import app, reading_input, say
from stowage_testbed.cli.options import ClusterChoice, Duration, with_option_groups, write_output
from stowage_testbed.cli.plan_control import PlanApi
from stowage_testbed.trace.format import check_is_trace, make_schema

if TYPE_CHECKING:
    from kubernetes.client import ApiClient


@app.command()
@with_option_groups
def page(
    *,
    which: ClusterChoice,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port of 127.0.0.1; else any free one.")] = None,
    save: Annotated[
        Path | None, typer.Option(help="At the end, write the page with everything that was seen to this file.")
    ] = None,
    for_: Duration = None,
    allow_approve: Annotated[
        bool, typer.Option("--allow-approve", help="Show buttons to approve and abort plans, if you have the right to.")
    ] = False,
) -> None:
    """Show a cluster in a browser: nodes, plans, and why pods are pending.

    The cluster is only listed and watched. Only browsers of this machine that know the printed address see the page; a
    slider goes back in time.
    """
    with reading_input():
        for_s = _seconds(for_)
        client = which.new_client()
    with client:
        name = which.cluster or which.context or client.configuration.host
        show_page(client, name, port=port or 0, save=save, for_s=for_s, allow_approve=allow_approve)


@app.command()
@with_option_groups
def record(
    *,
    out: Annotated[Path | None, typer.Option(help="File to write or overwrite, as in day.jsonl.gz.")] = None,
    for_: Duration = None,
    namespace: Annotated[
        list[str] | None, typer.Option(help="Record only this namespace, and objects that have none; repeatable.")
    ] = None,
    which: ClusterChoice,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of a line, and exit.")] = False,
) -> None:
    """Record pods, controllers, nodes and budgets of a cluster as they come and go.

    The cluster is only listed and watched. The file holds what scheduling depends on: no images, commands, environment
    or secrets. Recording goes on after lost connections; Ctrl-C ends it in order, and if it is killed some seconds are
    lost.
    """
    if schema:
        typer.echo(json.dumps(make_schema(), indent=2))
        return
    # The client takes most of a second to import.
    from stowage_testbed.trace.record import Recorded, record  # noqa: PLC0415

    with reading_input():
        if out is None:
            raise InputError("--out names the file to write, as in day.jsonl.gz")
        check_is_trace(out.name)
        for_s = _seconds(for_)
        client = which.new_client()

    def tell_begin(recorded: Recorded) -> None:
        until = "until Ctrl-C" if for_ is None else f"for {for_}"
        typer.echo(f"recording {until}: {out}", err=True)

    # An exception in the middle of a line would break the file.
    with client, _stopped_by_signals() as stop:
        try:
            recorded = record(
                client, out, stop=stop, for_s=for_s, namespaces=namespace or (), began=tell_begin, remark=say
            )
        except OSError as error:
            raise StowageError(f"{out} cannot be written: {error.strerror}; name another file with --out") from error
    losses = f", interrupted {recorded.losses} times" if recorded.losses else ""
    typer.echo(
        f"recorded {recorded.seconds:.0f} s: {recorded.pods} pods, {recorded.lines} "
        f"lines{losses}, {out.stat().st_size} bytes: {out}"
    )


def show_page(
    api: ApiClient,
    name: str,
    *,
    port: int = 0,
    save: Path | None = None,
    for_s: float | None = None,
    allow_approve: bool = False,
) -> None:
    """Show a cluster until Ctrl-C or until the time is over, or raise a StowageError."""
    from stowage_testbed.live.history import may_change_plans  # noqa: PLC0415 - takes most of a second
    from stowage_testbed.live.server import Control, LiveServer, serving  # noqa: PLC0415
    from stowage_testbed.live.watching import LiveWatch  # noqa: PLC0415

    watch = LiveWatch(api, say)
    plans = PlanApi(api)
    control = Control({"approve": plans.approve, "abort": plans.abort}, lambda: may_change_plans(api))
    server = LiveServer(watch, name, control if allow_approve else None)
    with _stopped_by_signals() as stop:
        watch.begin()
        try:
            with serving(server, port) as address:
                typer.echo(f"page: {address}")
                stop.wait(for_s)
        finally:
            watch.stop()
        if save is not None:
            write_output(save, server.saved(), "--save")
            typer.echo(f"saved: {save.resolve().as_uri()}")


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    from stowage_testbed.cluster.interruption import handling  # noqa: PLC0415 - takes most of a second

    stop = threading.Event()
    with handling(dict.fromkeys((signal.SIGINT, signal.SIGTERM), lambda *_: stop.set())):
        yield stop


def _seconds(text: str | None) -> float | None:
    from stowage_testbed.compare.request import read_time  # noqa: PLC0415 - takes most of a second

    return None if text is None else read_time(text)
