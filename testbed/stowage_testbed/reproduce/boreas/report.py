"""Table and figures of the evaluation of Boreas."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stowage_testbed.reproduce.boreas.counted import counted
from stowage_testbed.reproduce.boreas.figures import boreas_figures
from stowage_testbed.reproduce.boreas.request import BoreasRequest
from stowage_testbed.reproduce.boreas.rows import DeploymentRow
from stowage_testbed.reproduce.boreas.table import boreas_table
from stowage_testbed.reproduce.instance.reporting import write_tables


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
    return write_tables(
        path,
        figures_file,
        [boreas_table(found)],
        list(boreas_figures(found)),
        {"scope": request.document()},
    )
