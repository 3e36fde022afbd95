"""`stowage scenario from-cluster`: a cluster as it is now, as a scenario."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli.scenario import scenario_app
from stowage_testbed.cli.which_cluster import Cluster, Context, Kubeconfig, Lists, new_client
from stowage_testbed.text.lines import count

RUN = "from stowage_testbed.cli import main; main()"
"""Runs a command in a process of its own, as a user would."""


@scenario_app.command("from-cluster")
def from_cluster(
    *,
    out: Annotated[Path, typer.Option(help="Folder to write to; its name is the topic.")],
    cluster: Cluster = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    file: Lists = None,
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="Take the objects of this kind along, with its definition, as in "
            "Queue or acme.com/v1/Queue; may be given more than once.",
        ),
    ] = None,
    neutral: Annotated[
        bool, typer.Option("--neutral", help="Other names, labels and values in the place of the cluster's own.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Run the scenario once, to see that it shows what was so.")
    ] = True,
) -> None:
    """Write a scenario that begins as a cluster is now, and expects what is so now.

    Only lists are asked of the API server. Pods are bound where they are; what waits
    has to wait for the same reasons. Exits with 1 if the scenario does not show that.
    """
    # The client takes long to import, which other commands need not wait for.
    from stowage_testbed.capture.capture import capture, make_neutral  # noqa: PLC0415
    from stowage_testbed.capture.reading import read_api, read_lists  # noqa: PLC0415
    from stowage_testbed.capture.writing import write_scenario  # noqa: PLC0415

    if file:
        found = read_lists(file, include or ())
    else:
        with new_client(cluster, context, kubeconfig) as client:
            found = read_api(client, include or ())
    captured = capture(found)
    if neutral:
        captured = make_neutral(captured)
    path = write_scenario(captured, out)
    typer.echo(
        f"wrote {path}: {count(captured.pods, 'pod')} of {count(len(captured.workloads), 'workload')} on "
        f"{count(len(captured.nodes.names), 'node')} of {count(len(captured.nodes.pools), 'kind')}, "
        f"{captured.pending} without a node"
    )
    for note in captured.notes:
        typer.echo(note.in_words())
    if check:
        _run_once(path)
    typer.echo(f"run it: stowage run {path}")


def _run_once(path: Path) -> None:
    """Run a scenario, and raise if it does not show what was so."""
    with tempfile.TemporaryDirectory(prefix="stowage-check-") as results:
        command = [sys.executable, "-c", RUN, "run", str(path), "--results", results]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        typer.echo(f"{done.stdout}{done.stderr}".rstrip())
        raise StowageError(
            f"{path} did not pass when it was run, as told above; where it does not show what was so in the "
            "cluster, change it by hand, or write it with --no-check"
        )
    typer.echo("checked: the scenario begins as the cluster is, and its expectations hold")
