"""Rebuilding the paper's evaluation, and reading what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from testbed.reproduce.instance.rebuilding import Rebuilding
from testbed.reproduce.paper.judged import Evaluation, Judged
from testbed.reproduce.paper.request import PaperRequest
from testbed.reproduce.paper.rows import InstanceRow
from testbed.reproduce.paper.selecting import SelectTask
from testbed.reproduce.paper.solving import SolveTask
from testbed.reproduce.sweep.engine import Engine
from testbed.reproduce.sweep.listener import SweepListener

PAPER = Rebuilding(
    "paper", InstanceRow, PaperRequest.of_document, SelectTask, SolveTask
)


def reproduce(
    request: PaperRequest, path: Path, engine: Engine, listener: SweepListener
) -> Evaluation:
    """Do what is left to do, write the Parquet files, and return all results.

    Raises
    ------
    FolderBusyError, OtherSweepError
        The folder cannot be used.
    """
    return read_evaluation(path, PAPER.carry_out(request, path, engine, listener))


def read_evaluation(
    path: Path, failures: Mapping[str, str] | None = None
) -> Evaluation:
    """Return what the folder's Parquet files hold.

    Raises
    ------
    NoSweepError
        It has none.
    """
    rebuilt = PAPER.read(path)
    return Evaluation(
        judged=tuple(Judged(instance, result) for instance, result in rebuilt.results),
        strategies=rebuilt.request.strategies,
        limits_s=rebuilt.request.limits_s,
        missing=Counter(rebuilt.missing),
        failures=dict(failures or {}),
    )
