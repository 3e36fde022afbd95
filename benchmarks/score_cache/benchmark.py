"""The whole benchmark of the score cache: run it, write its file, return its table."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.command import Say, write_figures
from benchmarks.score_cache.figures import score_cache_figures
from benchmarks.score_cache.outcome import Outcome
from benchmarks.score_cache.rounds import ARMS, CacheScope, run_rounds

NAME = "bench-score-cache"


def run_benchmark(scope: CacheScope, results: Path, say: Say) -> str:
    """Measure, write ``<results>/bench-score-cache.json``, return the table.

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
    about = {"scope": scope.name, "cores": 1}
    kept = [one.document() for one in outcomes]
    return write_figures(results / f"{NAME}.json", figures, about, outcomes=kept)
