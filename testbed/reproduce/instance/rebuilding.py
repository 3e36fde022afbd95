"""Rebuilding an evaluation: find its instances, solve them, keep the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from testbed.bench.cell import Cell
from testbed.reproduce.instance.rows import ResultRow
from testbed.reproduce.sweep.carrying_out import carry_out
from testbed.reproduce.sweep.engine import Engine
from testbed.reproduce.sweep.folder import SweepFolder
from testbed.reproduce.sweep.journal import Journal
from testbed.reproduce.sweep.listener import SweepListener
from testbed.reproduce.sweep.parquet import frame_of, read_rows, write_frame
from testbed.reproduce.sweep.shard import Shard
from testbed.reproduce.sweep.task import Task

INSTANCES, RESULTS = "instances", "results"


class Case(Protocol):
    """An instance that is to be found."""

    @property
    def id(self) -> str:
        """Return its name."""
        ...

    @property
    def cell(self) -> Cell:
        """Return where in the grid it is."""
        ...


class InstanceRow(Protocol):
    """An instance that was found."""

    @property
    def case(self) -> str:
        """Return the name of its case."""
        ...


CaseT = TypeVar("CaseT", bound=Case)
CaseT_co = TypeVar("CaseT_co", bound=Case, covariant=True)
InstanceT = TypeVar("InstanceT", bound=InstanceRow)


class Request(Protocol[CaseT_co]):
    """What is asked of an evaluation."""

    @property
    def strategies(self) -> tuple[str, ...]:
        """Return who solves."""
        ...

    @property
    def limits_s(self) -> tuple[float, ...]:
        """Return the time limits."""
        ...

    @property
    def shard(self) -> Shard:
        """Return the part of the instances that is dealt with."""
        ...

    @property
    def deterministic(self) -> bool:
        """Return whether work is counted in steps."""
        ...

    def cases(self) -> Sequence[CaseT_co]:
        """Return the instances of the shard."""
        ...

    def document(self) -> dict[str, Any]:
        """Return what was asked for, as JSON values."""
        ...


@dataclass(frozen=True, slots=True)
class Rebuilt(Generic[CaseT, InstanceT]):
    """What a folder holds; ``results`` come with their instances."""

    request: Request[CaseT]
    instances: Mapping[str, InstanceT]
    results: tuple[tuple[InstanceT, ResultRow], ...]

    @property
    def missing(self) -> list[str]:
        """Return the cell of each case for which no instance was found."""
        return [
            case.cell.name
            for case in self.request.cases()
            if case.id not in self.instances
        ]


@dataclass(frozen=True, slots=True)
class Rebuilding(Generic[CaseT, InstanceT]):
    """How one paper's evaluation is rebuilt.

    Attributes
    ----------
    kind
        Its name.
    row_type
        Of its instances.
    request_of
        Reads what was asked for from a folder's header.
    select, solve
        Make the tasks: for a case; for an instance, strategy, limit, and whether work
        is counted.
    """

    kind: str
    row_type: type[InstanceT]
    request_of: Callable[[Mapping[str, Any], Shard], Request[CaseT]]
    select: Callable[[CaseT], Task[InstanceT]]
    solve: Callable[[InstanceT, str, float, bool], Task[ResultRow]]

    def carry_out(
        self,
        request: Request[CaseT],
        path: Path,
        engine: Engine,
        listener: SweepListener,
    ) -> Mapping[str, str]:
        """Do what is left to do, and write the Parquet files.

        Returns
        -------
        Why, of each task that could not be carried out.

        Raises
        ------
        FolderBusyError, OtherSweepError
            The folder cannot be used.
        """
        folder = SweepFolder(path)
        with folder.opened(self.kind, request.document(), request.shard):
            instances = folder.journal(INSTANCES, self.row_type)
            results = folder.journal(RESULTS, ResultRow)
            selects = [self.select(case) for case in request.cases()]
            unfound = carry_out("instances", selects, instances, engine, listener)
            solves = self._solves(request, instances, alternating=True)
            unsolved = carry_out("solves", solves, results, engine, listener)
            self._write(path, request, instances, results)
        return {**unfound, **unsolved}

    def rebuild_tables(self, path: Path) -> None:
        """Write the Parquet files of a folder whose journals are there.

        Raises
        ------
        NoSweepError
            They are not.
        """
        folder = SweepFolder(path)
        self._write(
            path,
            self._request(folder),
            folder.journal(INSTANCES, self.row_type),
            folder.journal(RESULTS, ResultRow),
        )

    def read(self, path: Path) -> Rebuilt[CaseT, InstanceT]:
        """Return what the folder's Parquet files hold.

        Raises
        ------
        NoSweepError
            It has none.
        """
        request = self._request(SweepFolder(path))
        rows = read_rows(path / f"{INSTANCES}.parquet", self.row_type)
        instances = {row.case: row for row in rows}
        results = read_rows(path / f"{RESULTS}.parquet", ResultRow)
        return Rebuilt(
            request, instances, tuple((instances[one.case], one) for one in results)
        )

    def _request(self, folder: SweepFolder) -> Request[CaseT]:
        header = folder.header()
        return self.request_of(header.scope, Shard.parse(header.shards[0]))

    def _write(
        self,
        path: Path,
        request: Request[CaseT],
        instances: Journal[InstanceT],
        results: Journal[ResultRow],
    ) -> None:
        """Write both files in one order, however the rows came.

        Each result stands beside its whole instance.
        """
        known = frame_of(
            [row for case in request.cases() for row in instances.get(case.id)],
            self.row_type,
        )
        found = frame_of(
            [
                row
                for task in self._solves(request, instances, alternating=False)
                for row in results.get(task.id)
            ],
            ResultRow,
        )
        write_frame(path / f"{INSTANCES}.parquet", known)
        joined = found.join(known, on="case", how="left", maintain_order="left")
        write_frame(path / f"{RESULTS}.parquet", joined)

    def _solves(
        self,
        request: Request[CaseT],
        instances: Journal[InstanceT],
        *,
        alternating: bool,
    ) -> list[Task[ResultRow]]:
        """Return what is to be solved: A B for one instance and B A for the next."""
        arms = [
            (strategy, limit_s)
            for limit_s in request.limits_s
            for strategy in request.strategies
        ]
        return [
            self.solve(instance, strategy, limit_s, request.deterministic)
            for number, case in enumerate(request.cases())
            for instance in instances.get(case.id)
            for strategy, limit_s in (
                reversed(arms) if alternating and number % 2 else arms
            )
        ]
