"""`stowage run` and `stowage try`: scenarios on a cluster, a table at the end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.base.errors import InputError
from stowage_testbed.cli.main import app, reading_input
from stowage_testbed.cli.options import RESULTS, KeepCluster, Minor, ResultsFolder, RunningCluster, Speed, Trace
from stowage_testbed.cli.scenario import SCENARIOS, Labels, Names
from stowage_testbed.cluster.backend import RELEASE_TOOLS, Backend

MOST_NODES = 200
"""With more, the terminal of `stowage try` is silent for minutes: that is what scenarios are for."""


@app.command()
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
    results: ResultsFolder = RESULTS,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the run as JSON; - is standard output.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write a JUnit XML file.")] = None,
) -> None:
    """Run scenarios: apply their steps, check what they expect, and report.

    Scenarios with the label `full` take long: they run only if you give that label or their name.

    Exits with 0 if every check holds, 1 if one does not, 2 if the input is at fault, 3 if the run could not go on: a
    process of its cluster ended, or a disk is full.
    """
    # The client takes most of a second to import, which `stowage --help` does not need.
    from stowage_testbed.cli.run_session import RunSession  # noqa: PLC0415
    from stowage_testbed.cluster.choice import existing_cluster  # noqa: PLC0415
    from stowage_testbed.run.request import RunRequest, choose_scenarios, install_needed, list_tools  # noqa: PLC0415
    from stowage_testbed.run.tasks import choose_jobs  # noqa: PLC0415
    from stowage_testbed.scenario.from_trace import make_scenario_of_trace  # noqa: PLC0415
    from stowage_testbed.toolchain import choose_minor  # noqa: PLC0415

    with reading_input():
        if trace is None:
            chosen = choose_scenarios(scenarios or (), folder=SCENARIOS, variant=variant, labels=label or ())
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


@app.command(name="try")
def try_(
    *,
    nodes: Annotated[int, typer.Option(min=2, max=MOST_NODES, help="Number of nodes.")] = 16,
    keep_cluster: KeepCluster = False,
    kubernetes: Minor = None,
    results: ResultsFolder = RESULTS,
) -> None:
    """Fill a cluster of fake nodes until pods are pending, and let the optimiser pack it.

    The pods together request all that the nodes have. The scheduler, which places one after the other, leaves some
    pending; the command shows here and on a page what the optimiser makes of it. Missing tools are built first.

    Exits as `stowage run` does.
    """
    # The client takes most of a second to import, which `stowage --help` does not need.
    from stowage_testbed.cli.run_session import TrySession  # noqa: PLC0415

    with reading_input():
        session = TrySession(results, kubernetes)
    raise typer.Exit(session.try_out(nodes, keep_cluster=keep_cluster))
