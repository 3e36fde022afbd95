"""How the arms ran, and where that was not alike."""

from __future__ import annotations

from stowage_testbed.compare.bundle.comparison import PreflightRow
from stowage_testbed.compare.result import Result
from stowage_testbed.compare.tables.numbers import MISSING
from stowage_testbed.text.table import Table


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
