"""`stowage reproduce`: the papers' tables, one command each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stowage_optimizer.model.options import DEFAULT_STRATEGY
from stowage_testbed.cli.main import FAILED, app, reading_input
from stowage_testbed.cli.options import RESULTS
from stowage_testbed.cli.scenario import SCENARIOS

FIGURES = "figures.json"

reproduce_app = typer.Typer(
    name="reproduce", no_args_is_help=True, help="Rebuild the papers' evaluations; what was interrupted is resumed."
)
app.add_typer(reproduce_app)

Folder = Annotated[Path, typer.Option(help="Folder of the results, with figures.json.")]
Workers = Annotated[int, typer.Option(min=1, help="Number of processes, which share the cores.")]
DaskAddress = Annotated[str | None, typer.Option(help="Use the workers of the Dask scheduler at this address.")]
Deterministic = Annotated[bool, typer.Option("--deterministic", help="Count work in steps: the same rows anywhere.")]


@reproduce_app.command()
def paper(
    *,
    sample: Annotated[int, typer.Option(min=1, help="Instances of a cell; the paper has 100.")] = 10,
    cells: Annotated[
        list[str] | None, typer.Option(help="Cells by name, as in n4-p4-k1-u95 or n4-*; else all 96.")
    ] = None,
    strategies: Annotated[str, typer.Option(help="Strategies, the paper's first.")] = f"paper,{DEFAULT_STRATEGY}",
    limits: Annotated[str, typer.Option(help="Time limits in seconds; the paper's are 1,10,20.")] = "1",
    workers: Workers = 1,
    dask: DaskAddress = None,
    live: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the instances to run on a real cluster too.")
    ] = 0.0,
    deterministic: Deterministic = False,
    results: Folder = RESULTS / "reproduce-paper",
) -> None:
    """Rebuild the evaluation of "Priority Matters": Figures 3 and 4, Table 1.

    Exits with 0 if every task was carried out, 1 if one was not, 2 if the input is at fault.
    """
    # polars, matplotlib and the client take seconds that other commands do not need.
    from stowage_testbed.cli.reproducing import numbers, rebuild, run_sample_live, words  # noqa: PLC0415
    from stowage_testbed.reproduce.instance.rebuilding import choose_cells  # noqa: PLC0415
    from stowage_testbed.reproduce.paper.evaluation import PAPER, PaperRequest  # noqa: PLC0415
    from stowage_testbed.scenario.instances import grid  # noqa: PLC0415

    with reading_input():
        request = PaperRequest(
            cells=choose_cells(cells or (), grid()),
            sample=sample,
            strategies=words(strategies, "--strategies"),
            limits_s=numbers(limits, "--limits"),
            deterministic=deterministic,
        )
    then = (lambda found: run_sample_live(found, results, live)) if live else None
    rebuild(PAPER, request, results, workers=workers, dask=dask, then=then)


@reproduce_app.command()
def boreas(
    *,
    scenes: Annotated[list[str] | None, typer.Option(help="Scenes by name; else all nine.")] = None,
    arms: Annotated[list[str] | None, typer.Option(help="default, stowage or stowage-moves; else all three.")] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Runs of the paper's two tests; others run 10 times.")] = 100,
    results: Folder = RESULTS / "reproduce-boreas",
) -> None:
    """Rebuild the evaluation of "Boreas" on a real cluster with fake nodes.

    Exits with 0 if `stowage` deployed everything whole, 1 if not, 2 if the input is at fault.
    """
    from stowage_testbed.cli.reproducing import deployments  # noqa: PLC0415 - as above
    from stowage_testbed.reproduce.boreas.report import write_report as write_boreas  # noqa: PLC0415
    from stowage_testbed.reproduce.boreas.running import BoreasRequest, chosen_arms, chosen_scenes  # noqa: PLC0415

    request = BoreasRequest(chosen_scenes(scenes or ()), chosen_arms(arms or ()), repeat)
    rows = deployments(request, results)
    typer.echo(write_boreas(results, results / FIGURES, request, rows))
    planned = [row for row in rows if row.arm == "stowage"]
    raise typer.Exit(0 if all(row.whole for row in planned) else FAILED)


@reproduce_app.command()
def thesis(
    *,
    sample: Annotated[int, typer.Option(min=1, help="Instances of a cell; the thesis has 50.")] = 1,
    cells: Annotated[
        list[str] | None, typer.Option(help="Cells by name, as in n4-p4-k2-u80 or n4-*; else all 64.")
    ] = None,
    strategies: Annotated[str | None, typer.Option(help="Solvers; else all six.")] = None,
    limits: Annotated[str, typer.Option(help="Time limits in seconds; the thesis's are 1,10.")] = "1",
    workers: Workers = 1,
    dask: DaskAddress = None,
    deterministic: Deterministic = False,
    results: Folder = RESULTS / "reproduce-thesis",
) -> None:
    """Rebuild the thesis's evaluation: OR-Tools against Z3, and ours beside them.

    Exits with 0 if every task was carried out, 1 if one was not, 2 if the input is at fault.
    """
    from stowage_testbed.cli.reproducing import numbers, rebuild, words  # noqa: PLC0415 - as above
    from stowage_testbed.reproduce.instance.rebuilding import choose_cells  # noqa: PLC0415
    from stowage_testbed.reproduce.thesis import STRATEGIES, THESIS, ThesisRequest, thesis_grid  # noqa: PLC0415

    request = ThesisRequest(
        cells=choose_cells(cells or (), thesis_grid()),
        sample=sample,
        strategies=words(strategies, "--strategies") if strategies else STRATEGIES,
        limits_s=numbers(limits, "--limits"),
        deterministic=deterministic,
    )
    rebuild(THESIS, request, results, workers=workers, dask=dask)


@reproduce_app.command()
def scorecache(
    *,
    full: Annotated[bool, typer.Option("--full", help="Use the paper's periods: hours, not minutes.")] = False,
    results: Folder = RESULTS / "reproduce-scorecache",
) -> None:
    """Rebuild the score cache's evaluation: a burst, and recoveries, by five arms.

    Needs the tools of the groups compare and metrics. Comparisons that the folder has already are not run again.
    """
    from stowage_testbed.cli.progress import CompareProgress  # noqa: PLC0415 - as above
    from stowage_testbed.cluster.interruption import ending_cleanly  # noqa: PLC0415
    from stowage_testbed.reproduce.scorecache import planned, rebuild  # noqa: PLC0415

    comparisons = planned(full=full, rounds=None)
    progress = CompareProgress()
    try:
        with ending_cleanly():
            shown = rebuild(comparisons, SCENARIOS, results, results / FIGURES, progress)
    finally:
        progress.close()
    typer.echo(shown)
