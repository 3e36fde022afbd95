"""Rebuilding the evaluation: find the instances, solve them, keep the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from testbed.reproduce.paper.judged import Evaluation, Judged
from testbed.reproduce.paper.request import PaperRequest
from testbed.reproduce.paper.rows import InstanceRow, ResultRow
from testbed.reproduce.paper.selecting import SelectTask
from testbed.reproduce.paper.solving import SolveTask
from testbed.reproduce.sweep.carrying_out import carry_out
from testbed.reproduce.sweep.engine import Engine
from testbed.reproduce.sweep.folder import SweepFolder
from testbed.reproduce.sweep.journal import Journal
from testbed.reproduce.sweep.listener import SweepListener
from testbed.reproduce.sweep.parquet import frame_of, read_rows, write_frame
from testbed.reproduce.sweep.shard import Shard

KIND = "paper"
INSTANCES, RESULTS = "instances", "results"


def reproduce(
    request: PaperRequest, path: Path, engine: Engine, listener: SweepListener
) -> Evaluation:
    """Do what is left to do, write the Parquet files, and return all results.

    Raises
    ------
    FolderBusyError, OtherSweepError
        The folder cannot be used.
    """
    folder = SweepFolder(path)
    with folder.opened(KIND, request.document(), request.shard):
        instances = folder.journal(INSTANCES, InstanceRow)
        results = folder.journal(RESULTS, ResultRow)
        selects = [SelectTask(case) for case in request.cases()]
        failures = {
            **carry_out("instances", selects, instances, engine, listener),
            **carry_out(
                "solves", _solves(request, instances), results, engine, listener
            ),
        }
        write_tables(path, request, instances, results)
    return read_evaluation(path, failures)


def rebuild_tables(path: Path) -> None:
    """Write the Parquet files of a folder whose journals are there.

    Raises
    ------
    NoSweepError
        They are not.
    """
    folder = SweepFolder(path)
    header = folder.header()
    request = PaperRequest.of_document(header.scope, Shard.parse(header.shards[0]))
    write_tables(
        path,
        request,
        folder.journal(INSTANCES, InstanceRow),
        folder.journal(RESULTS, ResultRow),
    )


def write_tables(
    path: Path,
    request: PaperRequest,
    instances: Journal[InstanceRow],
    results: Journal[ResultRow],
) -> None:
    """Write both Parquet files, in one order however the rows came.

    Each result stands beside its whole instance.
    """
    known = frame_of(
        [row for case in request.cases() for row in instances.get(case.id)],
        InstanceRow,
    )
    found = frame_of(
        [
            row
            for task in _solves(request, instances, alternating=False)
            for row in results.get(task.id)
        ],
        ResultRow,
    )
    write_frame(path / f"{INSTANCES}.parquet", known)
    joined = found.join(known, on="case", how="left", maintain_order="left")
    write_frame(path / f"{RESULTS}.parquet", joined)


def read_evaluation(
    path: Path, failures: Mapping[str, str] | None = None
) -> Evaluation:
    """Return what the folder's Parquet files hold.

    Raises
    ------
    NoSweepError
        It has none.
    """
    header = SweepFolder(path).header()
    request = PaperRequest.of_document(header.scope, Shard.parse(header.shards[0]))
    rows = read_rows(path / f"{INSTANCES}.parquet", InstanceRow)
    instances = {row.case: row for row in rows}
    missing = [case.cell.name for case in request.cases() if case.id not in instances]
    return Evaluation(
        judged=tuple(
            Judged(instances[row.case], row)
            for row in read_rows(path / f"{RESULTS}.parquet", ResultRow)
        ),
        strategies=request.strategies,
        limits_s=request.limits_s,
        missing=Counter(missing),
        failures=dict(failures or {}),
    )


def _solves(
    request: PaperRequest, instances: Journal[InstanceRow], *, alternating: bool = True
) -> list[SolveTask]:
    """Return what is to be solved: A B for one instance and B A for the next."""
    arms = [
        (strategy, limit_s)
        for limit_s in request.limits_s
        for strategy in request.strategies
    ]
    return [
        SolveTask(instance, strategy, limit_s, request.deterministic)
        for number, case in enumerate(request.cases())
        for instance in instances.get(case.id)
        for strategy, limit_s in (
            reversed(arms) if alternating and number % 2 else arms
        )
    ]
