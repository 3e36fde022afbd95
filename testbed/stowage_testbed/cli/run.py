"""`stowage run`: scenarios on a cluster, a table at the end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.base.errors import InputError
from stowage_testbed.cli.main import Minor, app, reading_input
from stowage_testbed.cli.scenario import RESULTS, SCENARIOS, Folder, Speed, Trace
from stowage_testbed.cluster.backend import RELEASE_TOOLS, Backend

Asked = Annotated[
    list[str] | None,
    typer.Argument(
        help="Files, folders or names; nothing means all of ./scenarios, or of those "
        "that come with Stowage where there is no such folder.",
        metavar="NAME",
    ),
]


@app.command()
def run(
    scenarios: Asked = None,
    *,
    trace: Trace = None,
    speed: Speed = 1.0,
    folder: Folder = SCENARIOS,
    variant: Annotated[str | None, typer.Option(help="Only this variant; `default` is the plain run.")] = None,
    label: Annotated[list[str] | None, typer.Option(help="Only scenarios with this label.")] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Rounds; all must place alike.")] = 1,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Scenarios at a time, each on a cluster of its own. Without it "
            "by cores and memory; one where a cluster is named, kept or in containers.",
        ),
    ] = None,
    cluster: Annotated[str | None, typer.Option(help="Run on this cluster, which is up.")] = None,
    keep_cluster: Annotated[bool, typer.Option("--keep-cluster", help="Leave the run's cluster up.")] = False,
    backend: Annotated[Backend, typer.Option(help="How the run's own cluster is run.")] = Backend.KWOK_BINARY,
    kubernetes: Minor = None,
    results: Annotated[Path, typer.Option(help="Folder of the results bundles.")] = RESULTS,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the run as JSON; - is standard output.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write a JUnit XML file.")] = None,
) -> None:
    """Run scenarios: step by step, or placed without and packed with the optimiser.

    Those labelled `full` take long: they run by that label or by their own name only.

    Exits with 0 if every check holds, 1 if one does not, 2 if the input is at fault, 3
    if the run could not go on: a process of its cluster ended, or a disk is full.
    """
    # The client takes most of a second to import, which `stowage --help` does not need.
    from stowage_testbed.cli.run_session import RunSession  # noqa: PLC0415
    from stowage_testbed.cluster.choice import existing_cluster  # noqa: PLC0415
    from stowage_testbed.run.request import RunRequest, choose_scenarios  # noqa: PLC0415
    from stowage_testbed.run.tools import install_needed, list_tools  # noqa: PLC0415
    from stowage_testbed.run.workers.number import choose_jobs  # noqa: PLC0415
    from stowage_testbed.scenario.from_trace import make_scenario_of_trace  # noqa: PLC0415
    from stowage_testbed.toolchain import choose_minor  # noqa: PLC0415

    with reading_input():
        if trace is None:
            chosen = choose_scenarios(scenarios or (), folder=folder, variant=variant, labels=label or ())
        elif scenarios:
            raise InputError("name scenarios, or a trace with --trace")
        else:
            chosen = (make_scenario_of_trace(trace, results, speed),)
        if cluster is not None:
            kubernetes = existing_cluster(cluster).check_minor(kubernetes)
        install_needed(*list_tools(backend, chosen), *RELEASE_TOOLS, minor=kubernetes)
        request = RunRequest(chosen, repeat, cluster, keep_cluster, backend, (results,), kubernetes)
        request = replace(request, jobs=choose_jobs(request, jobs))
        session = RunSession(results, json_file, junit, choose_minor(kubernetes))
    raise typer.Exit(session.run(request))
