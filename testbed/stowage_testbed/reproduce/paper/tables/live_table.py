"""What the real cluster says to the simulation, and to the plans."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from stowage_testbed.reproduce.paper.live.rows import LiveRow
from stowage_testbed.text.table import Table

HEADERS = (
    "instance", "placements", "simulated", "cluster", "ratio", "with its start",
    "planned by priority", "runs by priority", "moves", "evictions",
)  # fmt: skip


def live_table(rows: Sequence[LiveRow]) -> Table:
    """Return a row an instance; without any, a note that says how to get some."""
    if not rows:
        how = "Nothing was run on a cluster; --live 0.02 runs two in a hundred."
        return Table("A sample on the real cluster", HEADERS, (), (how,))
    equal = sum(not row.difference for row in rows)
    return Table(
        title="A sample on the real cluster, with its plans carried out",
        headers=HEADERS,
        rows=tuple(_row(row) for row in rows),
        notes=(
            f"{equal} of {len(rows)} are placed as the simulation says, ReplicaSet by "
            f"ReplicaSet. The cluster took {median(map(ratio, rows)):.0f} times as "
            f"long (median), {median(map(full_ratio, rows)):.0f} times with a start of "
            "its own for each instance, as published.",
        ),
    )


def ratio(row: LiveRow) -> float:
    """Return how many times the simulation's time a running cluster took."""
    return row.cluster_s / row.simulated_s


def full_ratio(row: LiveRow) -> float:
    """Return how many times the simulation's time a fresh cluster would take."""
    return (row.cluster_s + row.start_s) / row.simulated_s


def _row(row: LiveRow) -> tuple[str, ...]:
    return (
        row.case,
        row.difference or "equal",
        f"{1000 * row.simulated_s:.0f} ms",
        f"{row.cluster_s:.1f} s",
        f"{ratio(row):.0f}",
        f"{full_ratio(row):.0f}",
        "+".join(map(str, row.planned)),
        "+".join(map(str, row.executed)),
        str(row.moves),
        str(row.evictions),
    )
