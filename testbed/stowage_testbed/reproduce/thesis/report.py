"""Tables and figures of the thesis's evaluation, without solving anything."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stowage_testbed.reproduce.instance.reporting import write_tables
from stowage_testbed.reproduce.sweep.folder import SweepFolder
from stowage_testbed.reproduce.thesis.evaluation import THESIS
from stowage_testbed.reproduce.thesis.figures import thesis_figures
from stowage_testbed.reproduce.thesis.tables import share_table, win_table


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
    evaluation = THESIS.read(path, failures)
    return write_tables(
        path,
        figures_file,
        [share_table(evaluation), win_table(evaluation)],
        list(thesis_figures(evaluation)),
        {"scope": SweepFolder(path).header().scope, "minutes": minutes},
    )
