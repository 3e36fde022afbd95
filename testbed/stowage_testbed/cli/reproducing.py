"""What the commands of `stowage reproduce` have in common."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from math import isfinite
from pathlib import Path
from time import monotonic
from typing import Any, NoReturn

import typer

from stowage_testbed.base.errors import InputError
from stowage_testbed.cli.main import FAILED
from stowage_testbed.cli.progress import SweepProgress
from stowage_testbed.cli.reproduce import FIGURES
from stowage_testbed.cluster.backend import TOOLS, Backend
from stowage_testbed.cluster.interruption import ending_cleanly
from stowage_testbed.report.progress import LiveProgress
from stowage_testbed.reproduce.boreas.running import BoreasRequest, DeploymentRow, deploy_all
from stowage_testbed.reproduce.instance import rebuilding
from stowage_testbed.reproduce.instance.rebuilding import GridRequest, Rebuilding, SolvedT
from stowage_testbed.reproduce.instance.rows import InstanceT
from stowage_testbed.reproduce.paper.evaluation import PAPER
from stowage_testbed.reproduce.paper.instances import Evaluation
from stowage_testbed.reproduce.paper.live import run_live, sample_of
from stowage_testbed.reproduce.sweep.execution import SweepFolder, connect_to_dask, use_processes
from stowage_testbed.reproduce.thesis import THESIS
from stowage_testbed.run.request import SIMULATOR, install_arms, install_needed


def words(text: str, option: str) -> tuple[str, ...]:
    """Return the words of a list; each must be there once."""
    found = tuple(word.strip() for word in text.split(","))
    if not all(found) or len(set(found)) < len(found):
        raise _no_list(option, text, "different names")
    return found


def numbers(text: str, option: str) -> tuple[float, ...]:
    """Return the numbers of a list; each must be more than 0, and there once."""
    try:
        found = tuple(float(word) for word in text.split(","))
    except ValueError:
        found = ()
    good = all(isfinite(one) and one > 0 for one in found)
    if not found or not good or len(set(found)) < len(found):
        raise _no_list(option, text, "different numbers of more than 0")
    return found


def _no_list(option: str, text: str, wanted: str) -> InputError:
    return InputError(f"{option} {text!r}: wants {wanted}, with commas between them")


def rebuild(
    paper: Rebuilding[InstanceT, SolvedT],
    request: GridRequest,
    folder: Path,
    *,
    workers: int,
    dask: str | None,
    then: Callable[[rebuilding.Evaluation[SolvedT]], None] | None = None,
) -> NoReturn:
    """Carry out what is left to do of an evaluation, report it, and exit with 1 if a task could not be carried out."""
    began = monotonic()
    install_needed(SIMULATOR)
    with ending_cleanly(), ExitStack() as stack:
        used = use_processes(workers) if dask is None else stack.enter_context(connect_to_dask(dask))
        evaluation = paper.rebuild(request, folder, used, SweepProgress())
    if then is not None:
        then(evaluation)
    minutes = (monotonic() - began) / 60
    typer.echo(paper.report(folder, folder / FIGURES, evaluation.failures, minutes))
    raise typer.Exit(FAILED if evaluation.failures else 0)


def show_sweep(folder: Path) -> None:
    """Make the page, tables and figures of an evaluation anew; those made on a cluster have their own command."""
    kind = SweepFolder(folder).header().kind
    known: dict[str, Rebuilding[Any, Any]] = {"paper": PAPER, "thesis": THESIS}
    if kind not in known:
        raise InputError(f"{folder} holds deployments; show them with: stowage reproduce {kind} --results {folder}")
    typer.echo(known[kind].report(folder, folder / FIGURES))


def deployments(request: BoreasRequest, folder: Path) -> tuple[DeploymentRow, ...]:
    """Carry out what is left to do of the evaluation of Boreas; show how it goes."""
    install_arms(request.arms, Backend.KWOK_BINARY)
    with ending_cleanly():
        return deploy_all(request, folder, SweepProgress())


def run_sample_live(found: Evaluation, folder: Path, share: float) -> None:
    """Run a share of the instances on a real cluster."""
    install_needed(*TOOLS[Backend.KWOK_BINARY])
    progress = LiveProgress()
    try:
        run_live(folder, sample_of(found, share), progress)
    finally:
        progress.close()
