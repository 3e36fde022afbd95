"""The whole benchmark of the optimiser: run it, write its file, return its tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from testbed.bench.case import Family
from testbed.bench.figures.cells import cell_documents, cells_table
from testbed.bench.figures.figure import Figure, table
from testbed.bench.figures.grids import grid_figures, trios
from testbed.bench.figures.large import large_figures
from testbed.bench.figures.service import certificate_figure, service_figures
from testbed.bench.fingerprint import fingerprint
from testbed.bench.journal import Journal
from testbed.bench.library import Library
from testbed.bench.readiness import Readiness, overheads, starts
from testbed.bench.scope import Scope
from testbed.bench.service import running_service
from testbed.bench.session import Session
from testbed.report.environment import environment
from testbed.simulate import Simulator, profile_file

NAME = "bench-optimizer"


def run_benchmark(
    scope: Scope, strategy: str, results: Path, say: Callable[[str], None]
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
        Told of each step, in a line.

    Raises
    ------
    StowageError
        A tool is missing, or the service failed.
    """
    folder = results / NAME
    journal = Journal(folder / f"records-{fingerprint()}.jsonl")
    cold_s, warm_s = starts(scope)
    with (
        Simulator(profile_file("deterministic")) as simulator,
        running_service() as service,
    ):
        library = Library(folder, simulator)
        session = Session(scope, strategy, library, journal, service, say)
        overhead_s = overheads(scope, strategy, library, service)
        session.run()
    readiness = Readiness(cold_s, warm_s, overhead_s)
    figures = list(_figures(session, readiness))
    path = results / f"{NAME}.json"
    content = _document(session, readiness, figures)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return "\n\n".join((*_tables(session, figures), f"figures: {path}"))


def _figures(session: Session, readiness: Readiness) -> Iterator[Figure]:
    yield from grid_figures(session)
    yield from large_figures(session)
    yield certificate_figure(session.journal)
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
