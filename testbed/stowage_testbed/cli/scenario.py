"""`stowage scenario`: check, list and explain scenario files, or write one of a cluster."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from tabulate import tabulate

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli.main import app
from stowage_testbed.cli.options import SCENARIOS, ClusterChoice, Labels, Lists, Names, with_option_groups
from stowage_testbed.scenario.load import find_shipped_folder, select
from stowage_testbed.scenario.schema import explain_scenario, explain_word, is_word, write_editor_schema
from stowage_testbed.text.tables import count

scenario_app = typer.Typer(name="scenario", help="Check, list and explain scenario files.", no_args_is_help=True)
app.add_typer(scenario_app)

RUN = "from stowage_testbed.cli import main; main()"
"""Runs a command in a process of its own, as a user would."""


@scenario_app.command()
def validate(names: Names = None) -> None:
    """Check scenario files; name every issue by file, line and column."""
    found = select(names or (), folder=SCENARIOS)
    files = {scenario.path for scenario in found}
    typer.echo(f"{len(found)} scenarios in {len(files)} files, no issues")


@scenario_app.command("list")
def list_scenarios(
    names: Names = None,
    label: Labels = None,
    *,
    shipped: Annotated[bool, typer.Option("--shipped", help="Only those that come with Stowage.")] = False,
) -> None:
    """List scenarios and their variants."""
    found = select(names or (), folder=find_shipped_folder() if shipped else SCENARIOS, labels=label or ())
    rows = [
        (
            one.scenario_id,
            len(one.first_nodes) + len(one.node_objects),
            one.pod_count,
            " ".join(one.labels),
            one.description,
        )
        for one in found
    ]
    headers = ["scenario", "nodes", "pods", "labels", "description"]
    typer.echo(tabulate(rows, headers, maxcolwidths=[None, None, None, 12, 60]))


@scenario_app.command()
def explain(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Files, folders or names of scenarios, or words of their language, as in burst or workload.kind; "
            "else its outermost words.",
            metavar="[NAME]...",
        ),
    ] = None,
) -> None:
    """Print scenarios with every default, or what a word of their language means."""
    words = [one for one in names if is_word(one)] if names else [""]
    scenarios = [one for one in names or () if one not in words]
    texts = [explain_word(word) for word in words]
    found = select(scenarios, folder=SCENARIOS) if scenarios else ()
    texts += [explain_scenario(scenario) for scenario in found]
    typer.echo("\n".join(texts), nl=False)


@scenario_app.command()
def schema() -> None:
    """Print the JSON Schema with which editors check and complete scenario files."""
    typer.echo(write_editor_schema(), nl=False)


@scenario_app.command("from-cluster")
@with_option_groups
def from_cluster(
    *,
    out: Annotated[Path, typer.Option(help="Folder to write to; its name is the topic.")],
    which: ClusterChoice,
    file: Lists = None,
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="Include objects of this kind, with its definition, as in Queue or acme.com/v1/Queue; repeatable.",
        ),
    ] = None,
    neutral: Annotated[
        bool, typer.Option("--neutral", help="Replace the cluster's names, labels and values with others.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Run the scenario once, to see that its expectations hold.")
    ] = True,
) -> None:
    """Write a scenario that begins as a cluster is now, and expects what is so now.

    The API server is only asked for lists. Pods are bound where they are; pending pods must stay pending for the same
    reasons. Exits with 1 if the scenario does not show that.
    """
    # The client takes long to import, which other commands need not wait for.
    from stowage_testbed.capture.capture import capture  # noqa: PLC0415
    from stowage_testbed.capture.neutral import make_neutral  # noqa: PLC0415
    from stowage_testbed.capture.reading import read_api, read_lists  # noqa: PLC0415
    from stowage_testbed.capture.workloads import notes_in_words  # noqa: PLC0415
    from stowage_testbed.capture.writing import write_scenario  # noqa: PLC0415

    if file:
        found = read_lists(file, include or ())
    else:
        with which.new_client() as client:
            found = read_api(client, include or ())
    captured = capture(found)
    if neutral:
        captured = make_neutral(captured)
    path = write_scenario(captured, out)
    typer.echo(
        f"wrote {path}: {count(captured.pods, 'pod')} of {count(len(captured.workloads), 'workload')} on "
        f"{count(len(captured.nodes), 'node')} of {count(len(captured.pools), 'kind')}, "
        f"{captured.pending} without a node"
    )
    for note in notes_in_words(captured.notes):
        typer.echo(note)
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
