"""`stowage simulate`: a recorded trace in virtual time, by the scheduler's own code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.whole_file import write_whole
from stowage_testbed.cli.main import Minor, app, reading_input
from stowage_testbed.run.tools import SIMULATOR, install_needed


@app.command("simulate")
def simulate(
    *,
    trace: Annotated[Path, typer.Option(help="What stowage record wrote: .jsonl.gz or .jsonl.")],
    profile: Annotated[
        str,
        typer.Option(metavar="NAME|FILE", help="A profile of the chart, or a file with a KubeSchedulerConfiguration."),
    ] = "default",
    kubernetes: Minor = None,
    output: Annotated[Path | None, typer.Option(help="Write the answer there as JSON, with every pod.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON only, without the pods.")] = False,
) -> None:
    """Have a trace happen again in minutes, without a cluster.

    Pods come when they came and run as long as they ran; the scheduler decides anew
    where, and no time passes while it does. Exits with 0, or with 2 if the trace or the
    profile is at fault.
    """
    # The client and numpy take seconds that other commands do not need.
    from stowage_testbed.simulate.trace_answer import simulate_trace  # noqa: PLC0415
    from stowage_testbed.simulate.trace_tables import (  # noqa: PLC0415
        make_document,
        make_tables,
    )
    from stowage_testbed.text.terminal import terminal_text  # noqa: PLC0415
    from stowage_testbed.toolchain import choose_minor  # noqa: PLC0415
    from stowage_testbed.trace.reading import read_trace  # noqa: PLC0415

    with reading_input():
        recorded = read_trace(trace)
    if recorded.remark:
        typer.echo(f"stowage: {trace}: {recorded.remark}", err=True)
    minor = choose_minor(kubernetes)
    install_needed(SIMULATOR, minor=minor, optimizer=False)
    answer = simulate_trace(recorded, trace.name, profile, minor=minor)
    if as_json:
        typer.echo(json.dumps(make_document(answer, pods=False), indent=2))
    else:
        typer.echo(terminal_text(make_tables(answer)))
    if output:
        _write(output, json.dumps(make_document(answer, pods=True)))


def _write(path: Path, document: str) -> None:
    try:
        write_whole(path, f"{document}\n")
    except OSError as error:
        raise StowageError(
            f"{path} cannot be written: {error.strerror}; name a file in a folder of yours with --output"
        ) from error
