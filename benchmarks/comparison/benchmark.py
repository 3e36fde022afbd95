"""The whole benchmark of comparisons: run it, write its file, return its table."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

from benchmarks.command import Say, write_figures
from benchmarks.comparison.scope import ComparisonScope
from benchmarks.harness.cost import harness_figures
from benchmarks.score_cache.figures import score_cache_figures
from benchmarks.score_cache.rounds import ARMS, run_rounds
from benchmarks.score_cache.workload import Case, Workload
from stowage_testbed.compare.reports import write_whole_report
from stowage_testbed.compare.session.session import compare
from stowage_testbed.reproduce.scorecache.comparison_figures import comparison_figures
from stowage_testbed.reproduce.scorecache.comparisons import ComparisonProgress
from stowage_testbed.text.figure import Figure, figure

NAME = "bench-compare"
COMPARISONS = "compare"


def run_benchmark(
    scope: ComparisonScope, scenarios: Path, results: Path, say: Say
) -> str:
    """Measure, write ``<results>/bench-compare.json``, return the table.

    Comparisons that are there already, in ``<results>/compare/``, are resumed.

    Raises
    ------
    StowageError
        A tool is missing, or a cluster failed.
    """
    began = monotonic()
    figures = [
        *_compared(scope, scenarios, results / COMPARISONS, say),
        *_in_process(scope, say),
        *harness_figures(scope.harness, say),
    ]
    minutes = (monotonic() - began) / 60
    note = "runs that were there before are not in it"
    took = figure("this call took", "min", [minutes], max, spread=False, note=note)
    figures.append(took)
    return write_figures(results / f"{NAME}.json", figures, {"scope": scope.name})


def _compared(
    scope: ComparisonScope, scenarios: Path, folder: Path, say: Say
) -> Iterator[Figure]:
    for planned in scope.comparisons:
        say(f"comparison {planned.name}")
        request = planned.request(scenarios, folder)
        result = compare(request, ComparisonProgress(say))
        write_whole_report(result, request.folder)
        yield from comparison_figures(planned, result)


def _in_process(scope: ComparisonScope, say: Say) -> Iterator[Figure]:
    nodes, pods, rounds = scope.score_cache
    case = Case(Workload.EQUAL, nodes, pods)
    with tempfile.TemporaryDirectory(prefix="sto-arms-") as folder:
        outcomes = list(run_rounds(case, ARMS, rounds, Path(folder), say))
    yield from score_cache_figures(outcomes)
