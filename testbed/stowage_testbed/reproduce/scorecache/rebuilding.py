"""Rebuilding the second paper's two tables from comparisons of schedulers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from stowage_testbed.compare.reports import write_whole_report
from stowage_testbed.compare.result import Result
from stowage_testbed.compare.session.session import compare
from stowage_testbed.compare.tables.burst_table import burst_table, direction_table
from stowage_testbed.reproduce.instance.reporting import write_tables
from stowage_testbed.reproduce.scorecache.comparison_figures import comparison_figures
from stowage_testbed.reproduce.scorecache.comparisons import DEFAULT, FULL, ComparisonProgress, Planned
from stowage_testbed.reproduce.scorecache.recovery_table import recovery_table
from stowage_testbed.text.figure import Figure
from stowage_testbed.text.table import Table

BURST, RECOVERY, RECOVERY_FULL = "deployment-200", "recovery", "recovery-full"
FOLDER = "scorecache"
"""Of the tables, beside those of the comparisons."""


def planned(*, full: bool, rounds: int | None) -> tuple[Planned, ...]:
    """Return the two comparisons; in ``full`` with the paper's periods and length.

    Without ``rounds`` each has as many as in the benchmark.
    """
    wanted = (BURST, RECOVERY_FULL if full else RECOVERY)
    by_name = {one.name: one for one in (FULL if full else DEFAULT)}
    chosen = (by_name[name] for name in wanted)
    return tuple(replace(one, rounds=rounds or one.rounds) for one in chosen)


def rebuild(
    comparisons: tuple[Planned, ...], scenarios: Path, results: Path, figures_file: Path, say: Callable[[str], None]
) -> str:
    """Compare what has not been compared yet, and return what a terminal shows.

    Comparisons in the folder ``results`` are resumed. The figures go to a file, as
    JSON; ``say`` receives a line for each run.
    """
    tables: list[Table] = []
    figures: list[Figure] = []
    for one in comparisons:
        say(f"comparison {one.name}")
        request = one.request(scenarios, results)
        result = compare(request, ComparisonProgress(say))
        write_whole_report(result, request.folder)
        tables += _tables(one, result)
        figures += comparison_figures(one, result)
    scope = {one.name: one.rounds for one in comparisons}
    folder = results / FOLDER
    return write_tables(folder, figures_file, tables, figures, {"scope": scope})


def _tables(one: Planned, result: Result) -> Iterator[Table]:
    if one.name != BURST:
        yield recovery_table(result)
        return
    for limits in result.comparison.limits:
        yield burst_table(result, limits)
        yield direction_table(result, limits)
