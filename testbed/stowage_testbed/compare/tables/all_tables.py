"""Every table of a comparison, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Iterator

from stowage_testbed.compare.result import Result
from stowage_testbed.compare.tables.burst_table import burst_table
from stowage_testbed.compare.tables.direction_table import direction_table
from stowage_testbed.compare.tables.environment_table import environment_table
from stowage_testbed.compare.tables.failed_table import failed_table
from stowage_testbed.compare.tables.settings_table import settings_table
from stowage_testbed.compare.tables.verdict_table import verdict_table
from stowage_testbed.text.table import Table


def all_tables(result: Result, *, whole: bool = False) -> tuple[Table, ...]:
    """Return the tables that have something to say; ``whole`` lists every metric."""
    return tuple(table for table in _tables(result, whole) if table.rows)


def _tables(result: Result, whole: bool) -> Iterator[Table]:
    yield failed_table(result)
    for limits in result.comparison.limits:
        yield verdict_table(result, limits, whole=whole)
        yield burst_table(result, limits)
        yield direction_table(result, limits)
    yield settings_table(result, whole=whole)
    if whole:
        yield environment_table(result)
