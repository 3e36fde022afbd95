"""Figures of the large instances: time until all is placed, gain, memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from statistics import median

from benchmarks.optimizer.record import Record
from benchmarks.optimizer.session import Session
from stowage_testbed.instances.cell import Cell
from stowage_testbed.text.figure import Figure, Target, at_least, at_most, figure

MIB = 1024**2
GIB = 1024**3
FULL_PERCENT = 100
LARGEST = 5000
ALL_PLACED_S = {1000: 0.05, 5000: 0.2}


def large_figures(session: Session) -> Iterator[Figure]:
    """Yield the figures of each large cell, then of all of them together."""
    by_cell: dict[Cell, list[Record]] = {}
    for case in session.scope.large_cases():
        record = session.record(case, session.long)
        by_cell.setdefault(case.cell, [])
        if record is not None:
            by_cell[case.cell].append(record)
    for cell, records in by_cell.items():
        if cell.usage_percent < FULL_PERCENT:
            yield _all_placed(cell, records)
        else:
            yield _gain(cell, records)
    everything = [one for records in by_cell.values() for one in records]
    yield figure(
        "large: decoding and verifying", "s",
        [one.decode_s + one.verify_s for one in everything], max, at_most(2, "s"),
        note="of the last update; the largest of all",
    )  # fmt: skip
    yield figure(
        "large: memory", "GiB",
        [one.peak_bytes / GIB for one in everything if one.peak_bytes], max,
        at_most(1, "GiB"), note="service and children, shared pages once",
    )  # fmt: skip
    yield figure(
        "large: memory per 1,000 pods, largest clusters", "MiB",
        _memory_per_1000_pods(by_cell), max,
        note="peak over pods, with what the service needs in any case",
    )  # fmt: skip
    yield figure(
        "large: longest beyond reading, limit and checking", "s",
        [
            one.wall_s - one.decode_s - session.scope.long_s - one.verify_s
            for one in everything
        ],
        max, at_most(0.05, "s"),
    )  # fmt: skip


def _memory_per_1000_pods(by_cell: dict[Cell, list[Record]]) -> list[float]:
    most = max((cell.nodes for cell in by_cell), default=0)
    return [
        record.peak_bytes / MIB / (cell.nodes * cell.pods_per_node / 1000)
        for cell, records in by_cell.items()
        for record in records
        if cell.nodes == most and record.peak_bytes
    ]


def _all_placed(cell: Cell, records: list[Record]) -> Figure:
    placed = [one for one in records if one.all_placed_solve_s is not None]
    missed = len(records) - len(placed)
    limit_s = ALL_PLACED_S.get(cell.nodes)
    made = figure(
        f"large {cell.name}: all pending placed after", "s",
        [one.all_placed_solve_s or 0.0 for one in placed], median,
        at_most(limit_s, "s") if limit_s else None,
        note="from the start of the search, the problem being in numbers",
    )  # fmt: skip
    if not missed:
        return made
    note = f"{missed} of {len(records)} never placed all"
    return replace(made, met=False, note=note)


def _gain(cell: Cell, records: list[Record]) -> Figure:
    """Return how much of the possible gain is reached, by the tiers' own bounds."""
    shares = []
    for one in records:
        last = one.tiers[-1]
        possible = last.upper_bound - last.placed_before
        if possible > 0:
            shares.append(100 * (last.placed - last.placed_before) / possible)
    target: Target | None = at_least(80, "%") if cell.nodes == LARGEST else None
    return figure(
        f"large {cell.name}: gained of the bound", "%", shares, median, target,
    )  # fmt: skip
