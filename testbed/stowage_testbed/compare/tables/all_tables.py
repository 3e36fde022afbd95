"""Every table of a comparison, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stowage_testbed.compare.comparison import PreflightRow
from stowage_testbed.compare.result import Result
from stowage_testbed.compare.tables.burst_table import burst_table, direction_table
from stowage_testbed.compare.tables.numbers import MISSING
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


def failed_table(result: Result) -> Table:
    """Return a line for each run that failed."""
    rows = tuple((run.limits, str(run.round_number), run.arm, run.error) for run in result.runs if run.error)
    return Table("Runs that failed", ("limits", "round", "arm", "why"), rows)


def settings_table(result: Result, *, whole: bool = False) -> Table:
    """Return the settings that differ between the arms, or all of them."""
    rows = [row for row in result.comparison.preflight if whole or row.differs]
    same = len(result.comparison.preflight) - len(rows)
    return Table(
        title="What differs between the arms",
        headers=("limits", "setting", *result.arms, "fair", "note"),
        rows=tuple(_row(row, result.arms) for row in rows),
        notes=(f"{same} more settings are the same in all arms.",) if same else (),
    )


def _row(row: PreflightRow, arms: tuple[str, ...]) -> tuple[str, ...]:
    values = (row.values.get(arm, MISSING) for arm in arms)
    return (row.limits, row.setting, *values, "yes" if row.fair else "NO", row.note)


def environment_table(result: Result) -> Table:
    """Return everything that affects the figures, a line each."""
    comparison = result.comparison
    rows = [
        ("scenario", comparison.scenario.scenario_id),
        ("scenario sha256", comparison.scenario.sha256),
        *_flat("parameter", comparison.scenario.parameters),
        ("started", comparison.started),
        ("seed", str(comparison.seed)),
        ("rounds asked for", str(comparison.rounds)),
        *_flat("", comparison.environment),
    ]
    for entry in comparison.arms:
        rows += [
            (f"{entry.name} version, {limits} limits", settings.version) for limits, settings in entry.settings.items()
        ]
        rows += [
            (f"{entry.name} configuration sha256, {limits} limits", digest)
            for limits, digest in entry.configuration_sha256.items()
        ]
    return Table("Environment", ("what", "value"), tuple(rows))


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(f"{name} {key}".strip(), item)
    else:
        yield name, str(value)
