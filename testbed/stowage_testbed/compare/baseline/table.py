"""What a check says, as a table."""

from __future__ import annotations

from collections.abc import Iterable

from stowage_testbed.compare.baseline.checking import FARTHEST, Check, Checked
from stowage_testbed.compare.calibration import Slowdown
from stowage_testbed.compare.tables.numbers import change_shown, shown
from stowage_testbed.text.table import Table

HEADERS = (
    "limits", "arm", "metric", "unit", "before", "now", "change [interval]", "verdict",
)  # fmt: skip


def check_table(check: Check) -> Table:
    """Return a line for each metric of each arm."""
    return Table(
        title="Against the baseline",
        headers=HEADERS,
        rows=tuple(_row(one) for one in check.checked),
        notes=tuple(_notes(check)),
    )


def _row(one: Checked) -> tuple[str, ...]:
    verdict = one.verdict
    return (
        one.limits,
        one.arm,
        verdict.name,
        verdict.unit,
        shown(verdict.baseline, verdict.unit),
        shown(verdict.arm, verdict.unit),
        change_shown(verdict) or verdict.reason,
        verdict.outcome,
    )


def _notes(check: Check) -> Iterable[str]:
    yield _speed(check.slowdown)
    for missing in check.missing:
        yield f"Not in this comparison: {missing}."


def _speed(slower: Slowdown | None) -> str:
    if slower is None:
        return "The speed of a machine is not known: nothing is scaled, and a verdict may be the machine's."
    side = "slower" if slower.factor >= 1 else "faster"
    factor = max(slower.factor, 1 / slower.factor)
    return (
        f"This machine is {factor:.2f} times {side} than that of the baseline "
        f"({', '.join(slower.works)}). Before and now are as measured; changes of "
        "times and rates are taken after scaling, and their intervals hold whether "
        "none or all of a time is the machine's."
        + (f" Beyond {FARTHEST:g} times, times and rates are not judged." if factor > FARTHEST else "")
    )
