"""One call of `stowage page`: a watch, a server, and an end."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import typer

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.whole_file import write_whole
from stowage_testbed.cli.plan_control import PlanApi
from stowage_testbed.cluster.interruption import handling
from stowage_testbed.live.rights import may_change_plans
from stowage_testbed.live.server import Control, LiveServer, serving
from stowage_testbed.live.watching import LiveWatch

if TYPE_CHECKING:
    from kubernetes.client import ApiClient


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
    stop = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    def remark(text: str) -> None:
        typer.echo(f"stowage: {text}", err=True)

    watch = LiveWatch(api, remark)
    control = Control(PlanApi(api), lambda: may_change_plans(api)) if allow_approve else None
    server = LiveServer(watch, name, control)
    with handling(dict.fromkeys((signal.SIGINT, signal.SIGTERM), end)):
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
                raise StowageError(
                    f"{save} cannot be written: {error.strerror}; name another file with --save"
                ) from error
            typer.echo(f"saved: {save.resolve().as_uri()}")
