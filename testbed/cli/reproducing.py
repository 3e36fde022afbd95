"""What the commands of `stowage reproduce` have in common."""

from __future__ import annotations

from math import isfinite
from pathlib import Path

from testbed.cli.sweep_progress import SweepProgress
from testbed.cluster.interruption import ending_cleanly
from testbed.errors import StowageError
from testbed.report.progress import LiveProgress
from testbed.reproduce.paper.evaluation import reproduce
from testbed.reproduce.paper.judged import Evaluation
from testbed.reproduce.paper.live.running import run_live, sample_of
from testbed.reproduce.paper.request import PaperRequest
from testbed.reproduce.sweep.engines import engine_for
from testbed.toolchain import install_tools

TOOLS = ("stowage-simulate",)


class ListError(StowageError):
    """An option wants a list and was given something else."""

    exit_code = 2

    def __init__(self, option: str, text: str, wanted: str) -> None:
        super().__init__(f"{option} {text!r}: wants {wanted}, with commas between them")


def words(text: str, option: str) -> tuple[str, ...]:
    """Return the words of a list; each must be there once."""
    found = tuple(word.strip() for word in text.split(","))
    if not all(found) or len(set(found)) < len(found):
        raise ListError(option, text, "different names")
    return found


def numbers(text: str, option: str) -> tuple[float, ...]:
    """Return the numbers of a list; each must be more than 0, and there once."""
    try:
        found = tuple(float(word) for word in text.split(","))
    except ValueError:
        found = ()
    good = all(isfinite(one) and one > 0 for one in found)
    if not found or not good or len(set(found)) < len(found):
        raise ListError(option, text, "different numbers of more than 0")
    return found


def sweep(
    request: PaperRequest, folder: Path, workers: int, dask_address: str | None
) -> Evaluation:
    """Carry out what is left to do of an evaluation, and show how it goes."""
    install_tools(TOOLS, quiet=True)
    progress = SweepProgress()
    with ending_cleanly(), engine_for(workers, dask_address) as engine:
        return reproduce(request, folder, engine, progress)


def run_sample_live(evaluation: Evaluation, folder: Path, share: float) -> None:
    """Run a share of the instances on a real cluster."""
    install_tools(quiet=True)
    progress = LiveProgress()
    try:
        run_live(folder, sample_of(evaluation, share), progress)
    finally:
        progress.close()
