"""Table and figures of the evaluation of Boreas."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from testbed.bench.figures.figure import table
from testbed.bench.whole_file import write_whole
from testbed.compare.tables.markdown import markdown_text
from testbed.compare.tables.terminal import terminal_text
from testbed.report.environment import environment
from testbed.reproduce.boreas.counted import counted
from testbed.reproduce.boreas.figures import boreas_figures
from testbed.reproduce.boreas.request import BoreasRequest
from testbed.reproduce.boreas.rows import DeploymentRow
from testbed.reproduce.boreas.table import boreas_table

TABLES = "tables.md"


def write_report(
    path: Path,
    figures_file: Path,
    request: BoreasRequest,
    rows: Sequence[DeploymentRow],
) -> str:
    """Write the table and the figures, and return what a terminal shows.

    Parameters
    ----------
    path
        The folder of the results.
    figures_file
        Where the figures go, as JSON.
    """
    found = counted(request, rows)
    tables = [boreas_table(found)]
    figures = list(boreas_figures(found))
    write_whole(path / TABLES, markdown_text(tables))
    content = {
        "environment": {**environment(), "scope": request.document()},
        "figures": [one.document() for one in figures],
    }
    write_whole(figures_file, json.dumps(content, indent=1) + "\n")
    return "\n\n".join(
        (terminal_text(tables), table(figures), f"figures: {figures_file}")
    )
