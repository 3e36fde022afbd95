"""The whole benchmark of comparisons: run it, write its file, return its table."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic

from benchmarks.comparison.harness_part import harness_figures
from benchmarks.comparison.scope import Scope
from benchmarks.score_cache.arm import ARMS
from benchmarks.score_cache.figures import score_cache_figures
from benchmarks.score_cache.rounds import run_rounds
from benchmarks.score_cache.workload import Case, Workload
from stowage_testbed.compare.reports import write_whole_report
from stowage_testbed.compare.session.session import compare
from stowage_testbed.environment import environment
from stowage_testbed.reproduce.scorecache.comparison_figures import comparison_figures
from stowage_testbed.reproduce.scorecache.comparisons import ComparisonProgress
from stowage_testbed.text.figure import Figure, figure, table
from stowage_testbed.whole_file import write_whole

NAME = "bench-compare"
COMPARISONS = "compare"


def run_benchmark(
    scope: Scope, scenarios: Path, results: Path, say: Callable[[str], None]
) -> str:
    """Measure, write ``<results>/bench-compare.json``, return the table.

    Comparisons that are there already, in ``<results>/compare/``, are resumed.

    Parameters
    ----------
    scope
        What to cover.
    scenarios
        Folder of the scenario files.
    results
        Folder of all results.
    say
        Receives a line for each run.

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
    took = figure("this call took", "min", [minutes], max, spread=False)
    note = "runs that were there before are not in it"
    figures.append(replace(took, note=note))
    path = results / f"{NAME}.json"
    content = {
        "environment": {**environment(), "scope": scope.name},
        "figures": [one.document() for one in figures],
    }
    write_whole(path, json.dumps(content, indent=1) + "\n")
    return f"{table(figures)}\n\nfigures: {path}"


def _compared(
    scope: Scope, scenarios: Path, folder: Path, say: Callable[[str], None]
) -> Iterator[Figure]:
    for planned in scope.comparisons:
        say(f"comparison {planned.name}")
        request = planned.request(scenarios, folder)
        result = compare(request, ComparisonProgress(say))
        write_whole_report(result, request.folder)
        yield from comparison_figures(planned, result)


def _in_process(scope: Scope, say: Callable[[str], None]) -> Iterator[Figure]:
    nodes, pods, rounds = scope.score_cache
    case = Case(Workload.EQUAL, nodes, pods)
    with tempfile.TemporaryDirectory(prefix="sto-arms-") as folder:
        outcomes = list(run_rounds(case, ARMS, rounds, Path(folder), say))
    yield from score_cache_figures(outcomes)
