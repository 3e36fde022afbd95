"""`stowage reproduce`: the papers' tables, one command each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from stowage_optimizer.model.options import DEFAULT_STRATEGY
from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.cli.main import FAILED, app, reading_input
from stowage_testbed.cli.options import RESULTS, SCENARIOS, with_option_groups
from stowage_testbed.cluster.backend import TOOLS, Backend
from stowage_testbed.cluster.interruption import ending_cleanly

if TYPE_CHECKING:
    from stowage_testbed.reproduce.paper.evaluation import InstanceRow
    from stowage_testbed.reproduce.rebuilding import Evaluation, InstanceT, Rebuilding
    from stowage_testbed.reproduce.sweep import Workers

FIGURES = "figures.json"

reproduce_app = typer.Typer(
    name="reproduce", no_args_is_help=True, help="Rebuild the papers' evaluations; what was interrupted is resumed."
)
app.add_typer(reproduce_app)

Folder = Annotated[Path, typer.Option(help="Folder of the results, with figures.json.")]


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Where the tasks of a sweep are executed."""

    workers: Annotated[int, typer.Option(min=1, help="Number of processes, which share the cores.")] = 1
    dask: Annotated[str | None, typer.Option(help="Use the workers of the Dask scheduler at this address.")] = None

    @contextmanager
    def connected(self) -> Iterator[Workers]:
        """Yield the workers, until the block ends or is interrupted."""
        from stowage_testbed.reproduce.sweep import connect_to_dask, use_processes  # noqa: PLC0415 - as below

        with ending_cleanly(), ExitStack() as stack:
            yield use_processes(self.workers) if self.dask is None else stack.enter_context(connect_to_dask(self.dask))


@dataclass(frozen=True, slots=True)
class SolvingOptions(WorkerOptions):
    """Where the instances of a grid are solved, and how long that takes."""

    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="Count work in steps: the same rows anywhere.")
    ] = False


def words(text: str, option: str) -> tuple[str, ...]:
    """Return the words of a list; each must be there once."""
    found = tuple(word.strip() for word in text.split(","))
    if not all(found) or len(set(found)) < len(found):
        raise InputError(f"{option} {text!r}: wants different names, with commas between them")
    return found


def numbers(text: str, option: str) -> tuple[float, ...]:
    """Return the numbers of a list; each must be more than 0, and there once."""
    try:
        found = tuple(float(word) for word in text.split(","))
    except ValueError:
        found = ()
    if not found or len({one for one in found if isfinite(one) and one > 0}) < len(found):
        raise InputError(f"{option} {text!r}: wants different numbers of more than 0, with commas between them")
    return found


def _rebuild(
    paper: Rebuilding[InstanceT],
    folder: Path,
    solving: SolvingOptions,
    *,
    cells: list[str] | None,
    sample: int,
    strategies: str,
    limits: str,
    then: Callable[[Evaluation[InstanceT]], None] | None = None,
) -> NoReturn:
    """Carry out what is left to do of an evaluation, report it, and exit with 1 if a task could not be carried out."""
    from stowage_testbed.cli.progress import SweepProgress  # noqa: PLC0415 - as above
    from stowage_testbed.reproduce.rebuilding import GridRequest, choose_cells  # noqa: PLC0415
    from stowage_testbed.run.request import SIMULATOR, install_needed  # noqa: PLC0415

    with reading_input():
        request = GridRequest(
            cells=choose_cells(cells or (), paper.grid),
            sample=sample,
            strategies=words(strategies, "--strategies"),
            limits_s=numbers(limits, "--limits"),
            deterministic=solving.deterministic,
        )
    # Dask's workers have packages of their own.
    if solving.dask is None and find_spec("stowage_strategies") is None:
        further = [one for one in request.strategies if one in paper.strategies and one != DEFAULT_STRATEGY]
        if further:
            way_out = "pip install 'stowage[strategies]'"
            raise StowageError(f"strategies of a package that is not installed: {', '.join(further)}; {way_out}")
    began = monotonic()
    install_needed(SIMULATOR)
    with solving.connected() as workers:
        evaluation = paper.rebuild(request, folder, workers, SweepProgress())
    if then is not None:
        then(evaluation)
    minutes = (monotonic() - began) / 60
    typer.echo(paper.report(folder, folder / FIGURES, evaluation.failures, minutes))
    raise typer.Exit(FAILED if evaluation.failures else 0)


@reproduce_app.command()
@with_option_groups
def paper(
    *,
    sample: Annotated[int, typer.Option(min=1, help="Instances of a cell; the paper has 100.")] = 10,
    cells: Annotated[
        list[str] | None, typer.Option(help="Cells by name, as in n4-p4-k1-u95 or n4-*; else all 96.")
    ] = None,
    strategies: Annotated[str, typer.Option(help="Strategies, the paper's first.")] = f"paper,{DEFAULT_STRATEGY}",
    limits: Annotated[str, typer.Option(help="Time limits in seconds; the paper's are 1,10,20.")] = "1",
    live: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the instances to run on a real cluster too.")
    ] = 0.0,
    solving: SolvingOptions,
    results: Folder = RESULTS / "reproduce-paper",
) -> None:
    """Rebuild the evaluation of "Priority Matters": Figures 3 and 4, Table 1.

    Exits with 0 if every task was carried out, 1 if one was not, 2 if the input is at fault.
    """
    # polars, matplotlib and the client take seconds that other commands do not need.
    from stowage_testbed.report.progress import LiveProgress  # noqa: PLC0415
    from stowage_testbed.reproduce.paper.live import run_live, sample_of  # noqa: PLC0415
    from stowage_testbed.reproduce.paper.report import PAPER  # noqa: PLC0415
    from stowage_testbed.run.request import install_needed  # noqa: PLC0415

    def run_sample(found: Evaluation[InstanceRow]) -> None:
        install_needed(*TOOLS[Backend.KWOK_BINARY])
        progress = LiveProgress()
        try:
            run_live(results, sample_of(found, live), progress)
        finally:
            progress.close()

    then = run_sample if live else None
    _rebuild(PAPER, results, solving, cells=cells, sample=sample, strategies=strategies, limits=limits, then=then)


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
    from stowage_testbed.cli.progress import SweepProgress  # noqa: PLC0415 - as above
    from stowage_testbed.compare.arms.serving import install_arms  # noqa: PLC0415
    from stowage_testbed.reproduce.boreas import BoreasRequest, choose_arms, choose_scenes, deploy_all, write_report  # noqa: PLC0415

    request = BoreasRequest(choose_scenes(scenes or ()), choose_arms(arms or ()), repeat)
    install_arms(request.arms, Backend.KWOK_BINARY)
    with ending_cleanly():
        rows = deploy_all(request, results, SweepProgress())
    typer.echo(write_report(results, results / FIGURES, request, rows))
    raise typer.Exit(0 if all(row.whole for row in rows if row.arm == "stowage") else FAILED)


@reproduce_app.command()
@with_option_groups
def thesis(
    *,
    sample: Annotated[int, typer.Option(min=1, help="Instances of a cell; the thesis has 50.")] = 1,
    cells: Annotated[
        list[str] | None, typer.Option(help="Cells by name, as in n4-p4-k2-u80 or n4-*; else all 64.")
    ] = None,
    strategies: Annotated[str | None, typer.Option(help="Solvers; else all six.")] = None,
    limits: Annotated[str, typer.Option(help="Time limits in seconds; the thesis's are 1,10.")] = "1",
    solving: SolvingOptions,
    results: Folder = RESULTS / "reproduce-thesis",
) -> None:
    """Rebuild the thesis's evaluation: OR-Tools against Z3, and ours beside them.

    Exits with 0 if every task was carried out, 1 if one was not, 2 if the input is at fault.
    """
    from stowage_testbed.reproduce.thesis import STRATEGIES, THESIS  # noqa: PLC0415 - as above

    strategies = strategies or ",".join(STRATEGIES)
    _rebuild(THESIS, results, solving, cells=cells, sample=sample, strategies=strategies, limits=limits)


@reproduce_app.command()
@with_option_groups
def fgd(
    trace: Annotated[
        Path, typer.Argument(exists=True, file_okay=False, help="Folder with the CSV files of the OpenB trace.")
    ],
    *,
    pods: Annotated[
        list[str] | None, typer.Option(help="Lists of pods by name, as in default or cpu*; else all.")
    ] = None,
    policies: Annotated[
        list[str] | None, typer.Option(help="Policies by name, as in FGD or Stowage*; else all eight.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Orders of arrival; the paper has 10.")] = 10,
    moves: Annotated[
        list[float] | None,
        typer.Option(min=0, max=100, help="Plan moves too, of at most so many percent of the placed pods; repeatable."),
    ] = None,
    profiles: Annotated[
        list[str] | None,
        typer.Option(help="Place each list by the scheduler too, once, with this profile of the chart; repeatable."),
    ] = None,
    where: WorkerOptions,
    results: Folder = RESULTS / "reproduce-fgd",
) -> None:
    """Rebuild the evaluation of "Beware of Fragmentation" on its trace, with scores and moves of ours beside it.

    Needs no cluster. Exits with 0 if every task was carried out, 1 if one was not, 2 if the input is
    at fault.
    """
    from stowage_testbed.cli.progress import SweepProgress  # noqa: PLC0415 - as above
    from stowage_testbed.reproduce.fgd.evaluation import make_request, rebuild  # noqa: PLC0415
    from stowage_testbed.reproduce.fgd.report import report  # noqa: PLC0415

    began = monotonic()
    with reading_input():
        request = make_request(trace, pods or (), policies or (), seeds, moves=moves or (), profiles=profiles or ())
    with where.connected() as workers:
        evaluation = rebuild(trace, request, results, workers, SweepProgress())
    typer.echo(report(results, results / FIGURES, evaluation.failures, (monotonic() - began) / 60))
    raise typer.Exit(FAILED if evaluation.failures else 0)


@reproduce_app.command()
def fgd_live(
    trace: Annotated[
        Path, typer.Argument(exists=True, file_okay=False, help="Folder with the CSV files of the OpenB trace.")
    ],
    *,
    pods: Annotated[str, typer.Option(help="List of pods by name.")] = "default",
    share: Annotated[float, typer.Option(min=0.001, max=1, help="Share of the nodes, and of the pods.")] = 1.0,
    load: Annotated[float, typer.Option(min=1, max=130, help="What the pods ask for, in percent of the GPUs.")] = 98.0,
    moves: Annotated[float, typer.Option(min=0, max=100, help="Percent of the pods that the plan may move.")] = 3.0,
    limit_s: Annotated[float, typer.Option("--limit", min=1, help="Seconds of the plan's solve.")] = 10.0,
    results: Folder = RESULTS / "reproduce-fgd-live",
) -> None:
    """Have a list of FGD's trace arrive on a real cluster with fake nodes, and carry a plan of few moves out.

    Exits with 0 if no pod was lost and every move was carried out, 1 if not, 2 if the input is at fault.
    """
    from stowage_testbed.report.progress import LiveProgress  # noqa: PLC0415 - as above
    from stowage_testbed.reproduce.fgd.live import LiveRequest, report_live, run_live  # noqa: PLC0415
    from stowage_testbed.run.request import SIMULATOR, install_needed  # noqa: PLC0415

    install_needed(SIMULATOR, *TOOLS[Backend.KWOK_BINARY])
    progress = LiveProgress()
    try:
        with ending_cleanly():
            row = run_live(trace, LiveRequest(pods, share, load, moves, limit_s), results, progress)
    finally:
        progress.close()
    typer.echo(report_live(row, results))
    raise typer.Exit(FAILED if row.plan.lost or row.undone else 0)


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
    from stowage_testbed.reproduce.scorecache import planned, rebuild  # noqa: PLC0415

    comparisons = planned(full=full)
    progress = CompareProgress()
    try:
        with ending_cleanly():
            shown = rebuild(comparisons, SCENARIOS, results, results / FIGURES, progress)
    finally:
        progress.close()
    typer.echo(shown)


def show_sweep(folder: Path) -> None:
    """Make the page, tables and figures of an evaluation anew; those made on a cluster have their own command."""
    from stowage_testbed.reproduce.fgd import report as fgd_report  # noqa: PLC0415 - as above
    from stowage_testbed.reproduce.paper.report import PAPER  # noqa: PLC0415
    from stowage_testbed.reproduce.sweep import read_header  # noqa: PLC0415
    from stowage_testbed.reproduce.thesis import THESIS  # noqa: PLC0415

    kind = read_header(folder).kind
    known: dict[str, Callable[[Path, Path], str]] = {
        "fgd": fgd_report.report, "paper": PAPER.report, "thesis": THESIS.report,
    }  # fmt: skip
    if kind not in known:
        raise InputError(f"{folder} holds deployments; show them with: stowage reproduce {kind} --results {folder}")
    typer.echo(known[kind](folder, folder / FIGURES))
