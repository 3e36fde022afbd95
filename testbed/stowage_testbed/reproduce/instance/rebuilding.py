"""Rebuilding an evaluation that is a grid of cells: `Rebuilding` finds, solves, saves and shows its instances."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import filter as filter_names
from itertools import accumulate, product
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from stowage_testbed.base.errors import InputError
from stowage_testbed.base.files import write_whole
from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.reproduce.instance.rows import InstanceT, ResultRow, SelectTask, SolveTask
from stowage_testbed.reproduce.sweep.execution import (
    Header,
    SweepFolder,
    SweepListener,
    Task,
    Tools,
    Workers,
    execute,
    frame_of,
    read_rows,
    write_frame,
)
from stowage_testbed.scenario.instances import Case, Cell, Family
from stowage_testbed.text.figure import Figure, at_most, figure, table
from stowage_testbed.text.tables import Table, markdown_text, terminal_text
from stowage_testbed.toolchain.environment import environment

INSTANCES, RESULTS = "instances", "results"
TABLES = "tables.md"


@dataclass(frozen=True, slots=True)
class GridRequest:
    """Cells, instances a cell, strategies and limits; if ``deterministic``, work is counted in steps on one core."""

    cells: tuple[Cell, ...]
    sample: int
    strategies: tuple[str, ...]
    limits_s: tuple[float, ...]
    deterministic: bool = False

    @staticmethod
    @abstractmethod
    def grid() -> Iterable[Cell]:
        """Return all cells of the paper."""

    @property
    def families(self) -> tuple[Family, ...]:
        """The kinds of an instance that are wanted."""
        return (Family.PAPER,)

    def cases(self) -> Sequence[Case]:
        """Return the cases: first instances of all cells before second ones."""
        numbered = product(range(self.sample), self.cells, self.families)
        return [Case(family, cell, number) for number, cell, family in numbered]

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the request that `document` returned this for."""
        given = {
            **document,
            "cells": choose_cells(document["cells"], cls.grid()),
            "strategies": tuple(document["strategies"]),
            "limits_s": tuple(document["limits_s"]),
        }
        return cls(**given)

    def document(self) -> dict[str, Any]:
        """Return what was asked for, as JSON values."""
        return {
            "cells": [cell.name for cell in self.cells],
            "sample": self.sample,
            "strategies": list(self.strategies),
            "limits_s": list(self.limits_s),
            "deterministic": self.deterministic,
        }


def choose_cells(patterns: Sequence[str], grid: Iterable[Cell]) -> tuple[Cell, ...]:
    """Return the cells of a grid whose names match, all without a pattern; an `InputError` if one matches none."""
    known = {cell.name: cell for cell in grid}
    for pattern in patterns:
        if not filter_names(known, pattern):
            raise InputError(
                f"--cells {pattern!r}: no cell of the grid is called so; they are called as in {next(iter(known))} "
                "(nodes, pods per node, priorities, usage in percent), and n4-* means all with four nodes"
            )
    wanted = {name for pattern in patterns or ("*",) for name in filter_names(known, pattern)}
    return tuple(cell for name, cell in known.items() if name in wanted)


@dataclass(frozen=True, slots=True)
class Solved(Generic[InstanceT]):
    """A result and its instance."""

    instance: InstanceT
    result: ResultRow

    @property
    def placed_by_priority(self) -> tuple[int, ...]:
        """Return how many pods the plan places, the highest priority first."""
        return self.instance.placed_by_priority(self.result.plan)

    @property
    def worth(self) -> tuple[tuple[int, int], ...]:
        """Return what Algorithm 1 maximises, tier by tier: placed, then undisrupted."""
        tiers = sorted(self.result.tiers, key=lambda tier: -tier.priority)
        if not tiers:
            # No plan was published in time: nothing moves.
            return tuple((count, 0) for count in accumulate(self.placed_by_priority))
        return tuple((tier.placed, -tier.disruption) for tier in tiers)


SolvedT = TypeVar("SolvedT", bound=Solved[Any])


@dataclass(frozen=True, slots=True)
class Evaluation(Generic[SolvedT]):
    """All results of a sweep; ``missing`` counts cases without an instance by cell, ``failures`` is by task."""

    solved: tuple[SolvedT, ...]
    strategies: tuple[str, ...]
    limits_s: tuple[float, ...]
    missing: Mapping[str, int]
    failures: Mapping[str, str]

    @property
    def instances(self) -> int:
        """Return how many instances were solved."""
        return len({one.result.case for one in self.solved})

    def of(self, strategy: str, limit_s: float) -> tuple[SolvedT, ...]:
        """Return the results of a strategy with a limit."""
        return tuple(one for one in self.solved if one.result.strategy == strategy and one.result.limit_s == limit_s)

    def groups(self) -> Iterator[tuple[float, str, tuple[SolvedT, ...]]]:
        """Yield the results by limit and strategy."""
        for limit_s, strategy in product(self.limits_s, self.strategies):
            yield limit_s, strategy, self.of(strategy, limit_s)

    def pairs(self, one: str, other: str, limit_s: float) -> list[tuple[SolvedT, SolvedT]]:
        """Return what two strategies made of each instance that both solved."""
        others = {solved.result.case: solved for solved in self.of(other, limit_s)}
        found = self.of(one, limit_s)
        return [(solved, others[solved.result.case]) for solved in found if solved.result.case in others]


def losses(pairs: Iterable[tuple[SolvedT, SolvedT]]) -> list[str]:
    """Return the instances on which the first of a pair ends worse, tier by tier."""
    return [one.instance.case for one, other in pairs if one.worth < other.worth]


def losses_figure(name: str, pairs: Sequence[tuple[SolvedT, SolvedT]]) -> Figure:
    """Return how often the first of a pair ends worse; it never should."""
    lost = losses(pairs)
    hits = [float(one.instance.case in lost) for one, _ in pairs]
    return figure(name, "instances", hits, sum, at_most(0), spread=False, note=", ".join(lost[:5]))


def failures_figure(name: str, evaluation: Evaluation[SolvedT]) -> Figure:
    """Return how many tasks could not be carried out, and why."""
    failures = evaluation.failures
    return Figure(name, len(failures), "tasks", "<= 0", not failures, note="; ".join(failures.values())[:200])


Shown = tuple[Sequence[Table], Sequence[Figure], str]
"""Of an evaluation: its tables, its figures, and what else a terminal says."""


@dataclass(frozen=True, slots=True)
class Rebuilding(Generic[InstanceT, SolvedT]):
    """How one paper's evaluation is rebuilt; ``attempt`` returns the instance of a case's n-th try, of ``tries``."""

    kind: str
    row_type: type[InstanceT]
    request_of: Callable[[Mapping[str, Any]], GridRequest]
    tries: int
    attempt: Callable[[Case, int, Tools], InstanceT | None]
    pair: Callable[[InstanceT, ResultRow], SolvedT]
    show: Callable[[Path, Evaluation[SolvedT], Header], Shown]

    def rebuild(
        self, request: GridRequest, path: Path, workers: Workers, listener: SweepListener
    ) -> Evaluation[SolvedT]:
        """Do what is left to do, write the Parquet files in one order, and return all results."""
        folder = SweepFolder(path)
        with folder.opened(self.kind, request.document()):
            instances = folder.journal(INSTANCES, self.row_type)
            results = folder.journal(RESULTS, ResultRow)
            selects = [SelectTask(case, self.tries, self.attempt) for case in request.cases()]
            unfound = execute("instances", selects, instances, workers, listener)
            solves = self._solves(request, instances, alternating=True)
            unsolved = execute("solves", solves, results, workers, listener)
            # However the rows came, each result stands beside its whole instance.
            known = frame_of((row for case in request.cases() for row in instances.get(case.id)), self.row_type)
            ordered = self._solves(request, instances, alternating=False)
            found = frame_of((row for task in ordered for row in results.get(task.id)), ResultRow)
            write_frame(path / f"{INSTANCES}.parquet", known)
            write_frame(path / f"{RESULTS}.parquet", found.join(known, on="case", how="left", maintain_order="left"))
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
        """Write tables and figures of a folder, and return what a terminal shows; ``failures`` has reasons by task."""
        header = SweepFolder(path).header()
        tables, figures, more = self.show(path, self.read(path, failures), header)
        return write_tables(path, figures_file, tables, figures, {"scope": header.scope, "minutes": minutes}) + more

    def _solves(
        self, request: GridRequest, instances: TaskJournal[InstanceT], *, alternating: bool
    ) -> list[Task[ResultRow]]:
        """Return what is to be solved: A B for one instance and B A for the next."""
        arms = [(strategy, limit_s) for limit_s in request.limits_s for strategy in request.strategies]
        return [
            SolveTask(case, instance, strategy, limit_s, request.deterministic)
            for number, case in enumerate(request.cases())
            for instance in instances.get(case.id)
            for strategy, limit_s in (reversed(arms) if alternating and number % 2 else arms)
        ]


def write_tables(
    folder: Path, figures_file: Path, tables: Sequence[Table], figures: Sequence[Figure], facts: Mapping[str, Any]
) -> str:
    """Write tables to a folder, and figures with facts to a JSON file; return what a terminal shows."""
    write_whole(folder / TABLES, markdown_text(tables))
    return f"{terminal_text(tables)}\n\n{write_figures(figures_file, figures, facts)}"


def write_figures(path: Path, figures: Sequence[Figure], facts: Mapping[str, Any], **details: Any) -> str:
    """Write figures as JSON, with the details of a run; return them as a table."""
    content = {"environment": {**environment(), **facts}, "figures": [one.document() for one in figures], **details}
    write_whole(path, json.dumps(content, indent=1) + "\n")
    return f"{table(figures)}\n\nfigures: {path}"
