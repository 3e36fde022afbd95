"""Rebuilding an evaluation: find its instances, solve them, keep the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.reproduce.instance.evaluation import Evaluation, InstanceT, SolvedT
from stowage_testbed.reproduce.instance.reporting import write_tables
from stowage_testbed.reproduce.instance.request import CaseT, GridRequest
from stowage_testbed.reproduce.instance.rows import ResultRow
from stowage_testbed.reproduce.instance.solving import SolveTask
from stowage_testbed.reproduce.sweep.execution import SweepListener, Task, Workers, execute
from stowage_testbed.reproduce.sweep.folder import Header, SweepFolder
from stowage_testbed.reproduce.sweep.parquet import frame_of, read_rows, write_frame
from stowage_testbed.text.figure import Figure
from stowage_testbed.text.table import Table

INSTANCES, RESULTS = "instances", "results"


Shown = tuple[Sequence[Table], Sequence[Figure], str]
"""Of an evaluation: its tables, its figures, and what else a terminal says."""


@dataclass(frozen=True, slots=True)
class Rebuilding(Generic[CaseT, InstanceT, SolvedT]):
    """How one paper's evaluation is rebuilt.

    Attributes
    ----------
    request_of
        Reads what was asked for from a folder's header.
    select
        Makes the task of finding a case's instance.
    pair
        Puts a result beside its instance.
    show
        Makes what is shown of the results in a folder, whatever made them.
    """

    kind: str
    row_type: type[InstanceT]
    request_of: Callable[[Mapping[str, Any]], GridRequest[CaseT]]
    select: Callable[[CaseT], Task[InstanceT]]
    pair: Callable[[InstanceT, ResultRow], SolvedT]
    show: Callable[[Path, Evaluation[SolvedT], Header], Shown]

    def rebuild(
        self, request: GridRequest[CaseT], path: Path, workers: Workers, listener: SweepListener
    ) -> Evaluation[SolvedT]:
        """Do what is left to do, write the Parquet files, and return all results."""
        folder = SweepFolder(path)
        with folder.opened(self.kind, request.document()):
            instances = folder.journal(INSTANCES, self.row_type)
            results = folder.journal(RESULTS, ResultRow)
            selects = [self.select(case) for case in request.cases()]
            unfound = execute("instances", selects, instances, workers, listener)
            solves = self._solves(request, instances, alternating=True)
            unsolved = execute("solves", solves, results, workers, listener)
            self._write(path, request, instances, results)
        return self.read(path, {**unfound, **unsolved})

    def read(self, path: Path, failures: Mapping[str, str] | None = None) -> Evaluation[SolvedT]:
        """Return what the folder's Parquet files hold."""
        request = self.request_of(SweepFolder(path).header().scope)
        rows = read_rows(path / f"{INSTANCES}.parquet", self.row_type)
        instances = {row.case: row for row in rows}
        results = read_rows(path / f"{RESULTS}.parquet", ResultRow)
        return Evaluation(
            solved=tuple(self.pair(instances[one.case], one) for one in results),
            strategies=request.strategies,
            limits_s=request.limits_s,
            missing=Counter(case.cell.name for case in request.cases() if case.id not in instances),
            failures=dict(failures or {}),
        )

    def report(
        self, path: Path, figures_file: Path, failures: Mapping[str, str] | None = None, minutes: float | None = None
    ) -> str:
        """Write tables and figures of a folder, and return what a terminal shows.

        ``failures`` says why, of each task that this call could not carry out in its
        ``minutes``.
        """
        header = SweepFolder(path).header()
        tables, figures, more = self.show(path, self.read(path, failures), header)
        facts = {"scope": header.scope, "minutes": minutes}
        return write_tables(path, figures_file, tables, figures, facts) + more

    def _write(
        self,
        path: Path,
        request: GridRequest[CaseT],
        instances: TaskJournal[InstanceT],
        results: TaskJournal[ResultRow],
    ) -> None:
        """Write both files in one order, however the rows came.

        Each result stands beside its whole instance.
        """
        solves = self._solves(request, instances, alternating=False)
        rows = (row for case in request.cases() for row in instances.get(case.id))
        known = frame_of(rows, self.row_type)
        found = frame_of((r for task in solves for r in results.get(task.id)), ResultRow)
        write_frame(path / f"{INSTANCES}.parquet", known)
        joined = found.join(known, on="case", how="left", maintain_order="left")
        write_frame(path / f"{RESULTS}.parquet", joined)

    def _solves(
        self, request: GridRequest[CaseT], instances: TaskJournal[InstanceT], *, alternating: bool
    ) -> list[Task[ResultRow]]:
        """Return what is to be solved: A B for one instance and B A for the next."""
        arms = [(strategy, limit_s) for limit_s in request.limits_s for strategy in request.strategies]
        return [
            SolveTask(case, instance, strategy, limit_s, request.deterministic)
            for number, case in enumerate(request.cases())
            for instance in instances.get(case.id)
            for strategy, limit_s in (reversed(arms) if alternating and number % 2 else arms)
        ]
