"""`stowage scenario`: look at scenario files without a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from tabulate import tabulate

from stowage_testbed.cli.main import app
from stowage_testbed.run.timeouts import DEFAULT_TIMEOUTS
from stowage_testbed.scenario.load import find_shipped_folder, select
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.schema import explain_scenario, explain_word, is_word, write_editor_schema

SCENARIOS = Path("scenarios")

scenario_app = typer.Typer(name="scenario", help="Check, list and explain scenario files.", no_args_is_help=True)
app.add_typer(scenario_app)

Asked = Annotated[
    list[str] | None,
    typer.Argument(
        help="Files, folders or names; nothing means all of the folder, or all that "
        "come with Stowage where it is not there."
    ),
]
Folder = Annotated[Path, typer.Option(help="Folder in which names are looked up, before those that come with Stowage.")]
Trace = Annotated[
    Path | None,
    typer.Option(help="What `stowage record` wrote, in place of a scenario; its nodes are those that were recorded."),
]
Speed = Annotated[float, typer.Option(min=0.001, help="How many times as fast as the trace was recorded.")]
RESULTS = Path("results")
"""Where scenarios of traces are written, and bundles."""

Labels = Annotated[list[str] | None, typer.Option("--label", help="Only scenarios with this label.")]


@scenario_app.command()
def validate(asked: Asked = None, folder: Folder = SCENARIOS) -> None:
    """Check scenario files; name every issue by file, line and column."""
    found = select(asked or (), folder=folder)
    files = {scenario.path for scenario in found}
    typer.echo(f"{len(found)} scenarios in {len(files)} files, no issues")


@scenario_app.command("list")
def list_scenarios(
    asked: Asked = None,
    folder: Folder = SCENARIOS,
    label: Labels = None,
    *,
    shipped: Annotated[bool, typer.Option("--shipped", help="Only those that come with Stowage.")] = False,
) -> None:
    """Print the catalogue of scenarios and their variants."""
    folder = find_shipped_folder() if shipped else folder
    found = select(asked or (), folder=folder, labels=label or ())
    rows = [_row(scenario) for scenario in found]
    headers = ["scenario", "nodes", "pods", "labels", "description"]
    typer.echo(tabulate(rows, headers, maxcolwidths=[None, None, None, 12, 60]))


@scenario_app.command()
def explain(
    asked: Annotated[
        list[str] | None,
        typer.Argument(
            help="Files, folders or names of scenarios; or words of their language, as "
            "in steps.burst.arrival; nothing means its outermost words.",
            metavar="NAME",
        ),
    ] = None,
    folder: Folder = SCENARIOS,
) -> None:
    """Print scenarios with every default, or what a word of their language means."""
    words = [one for one in asked if is_word(one)] if asked else [""]
    names = [one for one in asked or () if one not in words]
    texts = [explain_word(word) for word in words]
    found = select(names, folder=folder) if names else ()
    texts += [explain_scenario(scenario, DEFAULT_TIMEOUTS.step_s) for scenario in found]
    typer.echo("\n".join(texts), nl=False)


@scenario_app.command()
def schema(write: Annotated[Path | None, typer.Option(help="Write to this file instead of printing.")] = None) -> None:
    """Print the JSON Schema with which editors check and complete scenario files."""
    if write is None:
        typer.echo(write_editor_schema(), nl=False)
    else:
        write.write_text(write_editor_schema(), "utf-8")


def _row(scenario: Scenario) -> list[object]:
    return [
        scenario.scenario_id,
        len(scenario.first_nodes) + len(scenario.node_objects),
        scenario.pod_count,
        " ".join(scenario.labels),
        scenario.description,
    ]
