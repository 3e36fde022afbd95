"""Tables and figures of the thesis's evaluation, without solving anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from testbed.bench.figures.figure import table
from testbed.bench.whole_file import write_whole
from testbed.compare.tables.markdown import markdown_text
from testbed.compare.tables.terminal import terminal_text
from testbed.report.environment import environment
from testbed.reproduce.sweep.folder import SweepFolder
from testbed.reproduce.thesis.evaluation import read_evaluation
from testbed.reproduce.thesis.figures import thesis_figures
from testbed.reproduce.thesis.tables import duel_table, share_table

TABLES = "tables.md"


def write_report(
    path: Path,
    figures_file: Path,
    failures: Mapping[str, str] | None = None,
    minutes: float | None = None,
) -> str:
    """Write tables and figures, and return what a terminal shows.

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
    tables = [share_table(evaluation), duel_table(evaluation)]
    figures = list(thesis_figures(evaluation))
    write_whole(path / TABLES, markdown_text(tables))
    header = SweepFolder(path).header()
    content = {
        "environment": {**environment(), "scope": header.scope, "minutes": minutes},
        "figures": [one.document() for one in figures],
    }
    write_whole(figures_file, json.dumps(content, indent=1) + "\n")
    return "\n\n".join(
        (terminal_text(tables), table(figures), f"figures: {figures_file}")
    )
