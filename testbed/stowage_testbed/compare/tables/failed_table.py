"""Runs that do not count, and why."""

from __future__ import annotations

from stowage_testbed.compare.result import Result
from stowage_testbed.text.table import Table


def failed_table(result: Result) -> Table:
    """Return a line for each run that failed."""
    rows = tuple(
        (run.limits, str(run.round_number), run.arm, run.error)
        for run in result.runs
        if run.error
    )
    return Table("Runs that failed", ("limits", "round", "arm", "why"), rows)
