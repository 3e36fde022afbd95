"""The whole benchmark of the optimiser: run it, write its file, return its tables."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from benchmarks.command import Say, write_figures
from benchmarks.optimizer.certificates import certificate_figures
from benchmarks.optimizer.fleet import fleet_calls
from benchmarks.optimizer.grids import cell_documents, cells_table, grid_figures, trios
from benchmarks.optimizer.large import large_figures
from benchmarks.optimizer.library import Library
from benchmarks.optimizer.readiness import (
    Readiness,
    overheads,
    read_readiness,
    service_figures,
    starts,
    write_readiness,
)
from benchmarks.optimizer.record import Record
from benchmarks.optimizer.scope import EVERY_PART, OptimizerScope, Part
from benchmarks.optimizer.session import Session
from stowage_testbed.base.journal import Journal
from stowage_testbed.instances.case import Family
from stowage_testbed.optimizer_service.service import RunningService, running_service
from stowage_testbed.simulate import Simulator, find_profile
from stowage_testbed.toolchain.environment import fingerprint

NAME = "bench-optimizer"


def run_benchmark(
    scope: OptimizerScope,
    strategy: str,
    results: Path,
    say: Say,
    parts: Collection[Part] = EVERY_PART,
) -> str:
    """Measure, write ``<results>/bench-optimizer.json``, return the tables.

    Records are kept below ``<results>/bench-optimizer``, so that a run which was
    interrupted goes on where it stopped, and a larger scope uses what is there.

    Parameters
    ----------
    scope
        What to cover.
    strategy
        Name of the strategy under test.
    results
        Folder of all results.
    say
        Receives a line for each step.
    parts
        What to measure now. The figures are of all that was measured until now.

    Raises
    ------
    StowageError
        A tool is missing, or the service failed.
    """
    folder = results / NAME
    mark = fingerprint()
    journal = Journal(folder / f"records-{mark}.jsonl", Record)
    known = folder / f"service-{mark}.json"
    readiness = read_readiness(known)
    missing = Part.SERVICE in parts and not readiness.covers(scope)
    cold_s, warm_s = starts(scope) if missing else ((), ())
    with ExitStack() as open_until_end:
        simulator = Simulator(find_profile("deterministic"))
        library = Library(folder, open_until_end.enter_context(simulator))

        @cache
        def service() -> RunningService:
            return open_until_end.enter_context(running_service())

        session = Session(scope, strategy, library, journal, service, say)
        if missing:
            overhead_s = overheads(scope, strategy, library, service())
            fleet = fleet_calls(
                service(), strategy, scope.fleet_nodes, scope.fleet_calls
            )
            readiness = Readiness(cold_s, warm_s, overhead_s, fleet)
            write_readiness(known, readiness)
        session.run(parts)
    known_trios = trios(session)
    shown = write_figures(
        results / f"{NAME}.json",
        [
            *grid_figures(session),
            *large_figures(session),
            *certificate_figures(session),
            *service_figures(readiness),
        ],
        {"scope": scope.name, "strategy": strategy},
        cells=cell_documents(known_trios),
        service=readiness.document(),
        left_out=session.left_out,
    )
    cells = [cells_table(known_trios, one) for one in (Family.PAPER, Family.MIX)]
    if session.left_out:
        left_out = ", ".join(session.left_out)
        cells.append(f"left out, nothing pending at any seed: {left_out}")
    return "\n\n".join((*cells, shown))
