"""Everything that is made from a folder of results, without solving anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from testbed.bench.figures.figure import table
from testbed.bench.whole_file import write_whole
from testbed.compare.tables.markdown import markdown_text
from testbed.compare.tables.terminal import terminal_text
from testbed.report.environment import environment
from testbed.reproduce.paper.category import Baseline
from testbed.reproduce.paper.evaluation import read_evaluation
from testbed.reproduce.paper.figures import evaluation_figures
from testbed.reproduce.paper.live.running import live_rows
from testbed.reproduce.paper.page.page import page
from testbed.reproduce.paper.tables.headline_table import headline_table
from testbed.reproduce.paper.tables.live_table import live_table
from testbed.reproduce.paper.tables.table_1 import table_1
from testbed.reproduce.sweep.folder import SweepFolder

PAGE = "index.html"
TABLES = "tables.md"


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

    Raises
    ------
    NoSweepError
        There are no results.
    """
    evaluation = read_evaluation(path, failures)
    live = live_rows(path)
    tables = [
        *(headline_table(evaluation, one) for one in Baseline),
        table_1(evaluation),
        live_table(live),
    ]
    header = SweepFolder(path).header()
    write_whole(path / PAGE, page(evaluation, live, header))
    write_whole(path / TABLES, markdown_text(tables))
    figures = list(evaluation_figures(evaluation, live))
    content = {
        "environment": {**environment(), "scope": header.scope, "minutes": minutes},
        "figures": [one.document() for one in figures],
    }
    write_whole(figures_file, json.dumps(content, indent=1) + "\n")
    return "\n\n".join(
        (
            terminal_text(tables),
            table(figures),
            f"page: {path / PAGE}; figures: {figures_file}",
        )
    )
