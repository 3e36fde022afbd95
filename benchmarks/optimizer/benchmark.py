"""The whole benchmark of the optimiser: run it, write its file, return its tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.optimizer.figures.cells import cell_documents, cells_table
from benchmarks.optimizer.figures.certificates import certificate_figures
from benchmarks.optimizer.figures.grids import grid_figures, trios
from benchmarks.optimizer.figures.large import large_figures
from benchmarks.optimizer.figures.service import service_figures
from benchmarks.optimizer.fleet import fleet_calls
from benchmarks.optimizer.journal import Journal
from benchmarks.optimizer.library import Library
from benchmarks.optimizer.part import EVERY_PART, Part
from benchmarks.optimizer.readiness import (
    Readiness,
    overheads,
    read_readiness,
    starts,
    write_readiness,
)
from benchmarks.optimizer.scope import Scope
from benchmarks.optimizer.session import Session
from stowage_testbed.environment import environment, fingerprint
from stowage_testbed.instances.case import Family
from stowage_testbed.optimizer_service.service import RunningService, running_service
from stowage_testbed.simulate import Simulator, profile_file
from stowage_testbed.text.figure import Figure, table

NAME = "bench-optimizer"


def run_benchmark(
    scope: Scope,
    strategy: str,
    results: Path,
    say: Callable[[str], None],
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
    journal = Journal(folder / f"records-{mark}.jsonl")
    known = folder / f"service-{mark}.json"
    readiness = read_readiness(known)
    missing = Part.SERVICE in parts and not readiness.covers(scope)
    cold_s, warm_s = starts(scope) if missing else ((), ())
    with ExitStack() as open_until_end:
        simulator = Simulator(profile_file("deterministic"))
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
    figures = list(_figures(session, readiness))
    path = results / f"{NAME}.json"
    content = _document(session, readiness, figures)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return "\n\n".join((*_tables(session, figures), f"figures: {path}"))


def _figures(session: Session, readiness: Readiness) -> Iterator[Figure]:
    yield from grid_figures(session)
    yield from large_figures(session)
    yield from certificate_figures(session)
    yield from service_figures(readiness)


def _document(
    session: Session, readiness: Readiness, figures: list[Figure]
) -> dict[str, Any]:
    return {
        "environment": {
            **environment(),
            "scope": session.scope.name,
            "strategy": session.strategy,
        },
        "figures": [one.document() for one in figures],
        "cells": cell_documents(trios(session)),
        "service": readiness.document(),
        "left_out": session.left_out,
    }


def _tables(session: Session, figures: list[Figure]) -> Iterator[str]:
    yield table(figures)
    known = trios(session)
    for family in (Family.PAPER, Family.MIX):
        yield cells_table(known, family)
    if session.left_out:
        yield f"left out, nothing pending at any seed: {', '.join(session.left_out)}"
