"""Everything that is made from a folder of results, without solving anything."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stowage_testbed.reproduce.instance.reporting import write_tables
from stowage_testbed.reproduce.paper.categories import Baseline
from stowage_testbed.reproduce.paper.evaluation import PAPER
from stowage_testbed.reproduce.paper.figures import evaluation_figures
from stowage_testbed.reproduce.paper.live import live_rows
from stowage_testbed.reproduce.paper.page.page import page
from stowage_testbed.reproduce.paper.tables import headline_table, live_table, table_1
from stowage_testbed.reproduce.sweep.folder import SweepFolder
from stowage_testbed.whole_file import write_whole

PAGE = "index.html"


def write_report(
    path: Path,
    figures_file: Path,
    failures: Mapping[str, str] | None = None,
    minutes: float | None = None,
) -> str:
    """Write page, tables and figures, and return what a terminal shows.

    Parameters
    ----------
    path
        The folder of the results.
    figures_file
        Where the figures go, as JSON.
    failures
        Why, of each task that this call could not carry out.
    minutes
        That this call took.
    """
    evaluation = PAPER.read(path, failures)
    live = live_rows(path)
    header = SweepFolder(path).header()
    write_whole(path / PAGE, page(evaluation, live, header))
    said = write_tables(
        path,
        figures_file,
        [
            *(headline_table(evaluation, one) for one in Baseline),
            table_1(evaluation),
            live_table(live),
        ],
        list(evaluation_figures(evaluation, live)),
        {"scope": header.scope, "minutes": minutes},
    )
    return f"{said}; page: {path / PAGE}"
