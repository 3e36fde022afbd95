"""`stowage compare`: the same scenario, several schedulers, one result."""

import os
from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.base.errors import InputError
from stowage_testbed.cli.main import FAILED, app, reading_input
from stowage_testbed.cli.options import (
    RESULTS,
    SCENARIOS,
    Features,
    Minor,
    RunningCluster,
    Speed,
    Trace,
    with_option_groups,
)
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.compare.arms import ARMS, choose_arms

DEFAULT_ROUNDS = 3


@app.command()
@with_option_groups
def compare(
    scenario: Annotated[
        str | None,
        typer.Argument(help="A scenario that measures a window; without one, --save and --against read --results."),
    ] = None,
    *,
    trace: Trace = None,
    speed: Speed = 1.0,
    arms: Annotated[
        str,
        typer.Option(
            help=f"Schedulers, the baseline first: {', '.join(ARMS)}; add feature gates and a minor of an arm, as "
            "in default+GenericWorkload@1.37."
        ),
    ] = "default,stowage",
    arm_file: Annotated[
        list[Path] | None, typer.Option(help="A scheduler of your own, described in a YAML file; repeatable.")
    ] = None,
    repeat: Annotated[int | None, typer.Option(min=1, help="Rounds, each with one run of each arm; else 3.")] = None,
    until_decided: Annotated[
        str | None, typer.Option(help="Run rounds until each headline is decided or this time is over, as in 20m.")
    ] = None,
    limits: Annotated[
        str, typer.Option(help="Client limits: own, equal (1,000 requests a second), or own,equal for both.")
    ] = "equal",
    warm_up: Annotated[int, typer.Option(min=0, help="Pods to place before measuring; 0 measures cold.")] = 50,
    allow_unfair: Annotated[
        bool, typer.Option("--allow-unfair", help="Compare arms as different as they are.")
    ] = False,
    variant: Annotated[str | None, typer.Option(help="This variant of the scenario.")] = None,
    cluster: RunningCluster = None,
    kubernetes: Minor = None,
    features: Features,
    results: Annotated[
        Path | None,
        typer.Option(help="Folder of the bundle, else results/compare/SCENARIO; a comparison in it is resumed."),
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Write the headline metrics to this file, a baseline.")] = None,
    against: Annotated[
        Path | None,
        typer.Option(help="Compare with this baseline of --save; exit with 1 if a metric is worse or missing."),
    ] = None,
) -> None:
    """Compare schedulers, interleaved and paired, and report the differences.

    Exits with 0 if every run could be measured, 1 if one could not or is worse than the baseline, 2 if the input is at
    fault, 3 if the comparison could not go on: a process of its cluster ended, or a disk is full.
    """
    # numpy, Jinja and the client take seconds that other commands do not need.
    from stowage_testbed.cli.progress import CompareProgress  # noqa: PLC0415
    from stowage_testbed.compare import page, request, session, tables  # noqa: PLC0415
    from stowage_testbed.compare.arms.serving import install_arms  # noqa: PLC0415
    from stowage_testbed.compare.baseline import baseline_of, check, check_table, load_baseline, save_baseline  # noqa: PLC0415
    from stowage_testbed.compare.comparison import read_finished  # noqa: PLC0415
    from stowage_testbed.scenario.from_trace import make_scenario_of_trace  # noqa: PLC0415
    from stowage_testbed.text.tables import append_step_summary, markdown_text, terminal_text  # noqa: PLC0415

    with reading_input():
        before = load_baseline(against) if against else None
        asked = None
        if results and (save or against) and scenario is None and trace is None:
            comparison, failed = read_finished(results), False
        elif (scenario is None) is (trace is None):
            raise InputError("name a scenario, or a trace with --trace")
        elif repeat is not None and until_decided is not None:
            raise InputError("--repeat and --until-decided exclude each other")
        else:
            chosen = (
                make_scenario_of_trace(trace, RESULTS, speed)
                if trace is not None
                else request.choose_scenario(scenario or "", SCENARIOS, variant)
            )
            chosen = features.add_to(chosen)
            asked = request.CompareRequest(
                scenario=chosen,
                arms=tuple(choose_arms(request.split_words(arms), arm_file or (), kubernetes, chosen.features)),
                folder=results or request.make_default_folder_name(chosen),
                rounds=DEFAULT_ROUNDS if repeat is None else repeat,
                time_s=request.read_time(until_decided) if until_decided else None,
                limits=request.read_limits(limits),
                warm_up=warm_up,
                allow_unfair=allow_unfair,
                cluster=cluster,
            )
    if asked is not None:
        install_arms(asked.arms, Backend.KWOK_BINARY if cluster is None else None, (asked.scenario,))
        progress = CompareProgress()
        try:
            comparison = session.compare(asked, progress)
        finally:
            progress.close()
        failed = any(run.error for run in comparison.runs)
        file = page.write_report(comparison, asked.folder)
        append_step_summary(tables.comparison_markdown(comparison, whole=False), os.environ)
        typer.echo(tables.screen(comparison))
        typer.echo(f"bundle: {asked.folder}; page: {file}")
    if before and against:
        checked = check(against, before, baseline_of(comparison))
        failed = failed or not checked.holds
        append_step_summary(markdown_text([check_table(checked)]), os.environ)
        typer.echo(terminal_text([check_table(checked)]))
    if save:
        baseline = baseline_of(comparison)
        save_baseline(baseline, save)
        typer.echo(f"{len(baseline.series)} metrics of {baseline.scenario_id} written to {save}")
    raise typer.Exit(FAILED if failed else 0)
