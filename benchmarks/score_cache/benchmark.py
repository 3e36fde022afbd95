"""The whole benchmark of the score cache: run it, write its file, return its table."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.score_cache.arm import ARMS
from benchmarks.score_cache.figures import score_cache_figures
from benchmarks.score_cache.outcome import Outcome
from benchmarks.score_cache.rounds import run_rounds
from benchmarks.score_cache.scope import Scope
from stowage_testbed.environment import environment
from stowage_testbed.text.figure import table
from stowage_testbed.whole_file import write_whole

NAME = "bench-score-cache"


def run_benchmark(scope: Scope, results: Path, say: Callable[[str], None]) -> str:
    """Measure, write ``<results>/bench-score-cache.json``, return the table.

    Parameters
    ----------
    scope
        What to cover.
    results
        Folder of all results.
    say
        Receives a line for each run.

    Raises
    ------
    StowageError
        A tool is missing, or the simulator failed.
    """
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="sto-arms-") as folder:
        for case in scope.cases():
            outcomes += run_rounds(case, ARMS, scope.rounds, Path(folder), say)
    figures = list(score_cache_figures(outcomes))
    path = results / f"{NAME}.json"
    content = {
        "environment": {**environment(), "scope": scope.name, "cores": 1},
        "figures": [one.document() for one in figures],
        "outcomes": [one.document() for one in outcomes],
    }
    write_whole(path, json.dumps(content, indent=1) + "\n")
    return f"{table(figures)}\n\nfigures: {path}"
