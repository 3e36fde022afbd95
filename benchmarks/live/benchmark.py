"""The whole benchmark: measure what is missing, write the figures, return the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.command import Say, write_figures
from benchmarks.live.cell import Cell, LiveScope
from benchmarks.live.figures import cell_figures
from benchmarks.live.moments import Row
from benchmarks.live.rounds import run_cell
from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.optimizer_service.compiled import compile_optimizer
from stowage_testbed.text.figure import Figure
from stowage_testbed.toolchain import choose_minor, tool_build
from stowage_testbed.toolchain.environment import fingerprint

NAME = "live"


def run_benchmark(
    scope: LiveScope, cells: Sequence[Cell], results: Path, say: Say
) -> str:
    """Measure cells of a scope, write ``<results>/live.json``, return the table.

    Rows are kept below ``<results>/live``, a file for each build of scheduler and
    optimiser; a cell that is there is not measured again. The figures are of all cells
    of the scope that were measured until now.
    """
    build = f"{tool_build('stowage-scheduler', choose_minor())}-{fingerprint()}"
    journal = TaskJournal(results / NAME / f"rows-{build}.jsonl", Row)
    compile_optimizer()
    for cell in cells:
        if cell.name not in journal:
            journal.add(cell.name, tuple(run_cell(cell, say)))
    figures = list(_figures(scope, journal))
    return write_figures(results / f"{NAME}.json", figures, {"scope": scope.name})


def _figures(scope: LiveScope, journal: TaskJournal[Row]) -> Iterator[Figure]:
    for cell in scope.cells:
        yield from cell_figures(cell, journal.get(cell.name))
