"""`stowage run`: scenarios on a cluster, a table at the end."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.base.errors import InputError
from stowage_testbed.cli.main import app, reading_input
from stowage_testbed.cli.options import (
    RESULTS,
    SCENARIOS,
    Features,
    KeepCluster,
    Labels,
    Minor,
    Names,
    ResultsFolder,
    RunningCluster,
    Speed,
    Trace,
    with_option_groups,
)
from stowage_testbed.cluster.backend import RELEASE_TOOLS, Backend


@app.command()
@with_option_groups
def run(
    scenarios: Names = None,
    *,
    trace: Trace = None,
    speed: Speed = 1.0,
    variant: Annotated[str | None, typer.Option(help="Only this variant; `default` is the scenario itself.")] = None,
    label: Labels = None,
    repeat: Annotated[int, typer.Option(min=1, help="Rounds; all must place pods alike.")] = 1,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Scenarios at a time, each on a cluster of its own. Else by cores and memory; one with --cluster or "
            "--keep-cluster, or in containers.",
        ),
    ] = None,
    cluster: RunningCluster = None,
    keep_cluster: KeepCluster = False,
    backend: Annotated[Backend, typer.Option(help="How the run's own cluster is run.")] = Backend.KWOK_BINARY,
    kubernetes: Minor = None,
    features: Features,
    results: ResultsFolder = RESULTS,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the run as JSON; - is standard output.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write a JUnit XML file.")] = None,
) -> None:
    """Run scenarios: apply their steps, check what they expect, and report.

    Scenarios with the label `full` take long, and those with `metrics` need a tool that measures usage: they run only
    if you give the label or their name.

    Exits with 0 if every check holds and all rounds place alike, 1 if not, 2 if the input is invalid, 3 if the run
    could not go on (a process of its cluster ended, or a disk is full), and 130 if you interrupt it.
    """
    # The client takes most of a second to import, which `stowage --help` does not need.
    from stowage_testbed.cli.run_session import run_and_show  # noqa: PLC0415
    from stowage_testbed.cluster.choice import existing_cluster  # noqa: PLC0415
    from stowage_testbed.run.request import (  # noqa: PLC0415
        RunRequest,
        choose_jobs,
        choose_scenarios,
        install_needed,
        list_tools,
    )
    from stowage_testbed.scenario.from_trace import make_scenario_of_trace  # noqa: PLC0415

    with reading_input():
        if trace is None:
            chosen = choose_scenarios(scenarios or (), folder=SCENARIOS, variant=variant, labels=label or ())
        elif scenarios:
            raise InputError("name scenarios, or a trace with --trace")
        else:
            chosen = (make_scenario_of_trace(trace, results, speed),)
        chosen = tuple(map(features.add_to, chosen))
        if cluster is not None:
            kubernetes = existing_cluster(cluster).check_minor(kubernetes)
        install_needed(*list_tools(backend, chosen), *RELEASE_TOOLS, minor=kubernetes)
        request = RunRequest(chosen, repeat, cluster, keep_cluster, backend, (results,), kubernetes)
        request = replace(request, jobs=choose_jobs(request, jobs))
    raise typer.Exit(run_and_show(request, results, json_file, junit))
