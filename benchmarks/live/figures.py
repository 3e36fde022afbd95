"""From rows to figures: what plans took and cost, and what other pods felt of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from statistics import median

from benchmarks.live.cell import Cell, Part
from benchmarks.live.moments import PlanRow, Row, Window
from stowage_testbed.text.figure import Figure, Target, at_least, at_most, figure

MIB = 1024**2
READY_S = {Part.MOVES: 90.0, Part.PENDING: 60.0}
STORED_AFTER_LAST_S = {Part.PENDING: 3.0}
HOLD_S = {Part.PENDING: 2.0}
WRITES_AN_ARRIVAL = {Part.MOVES: 4.0}
SHOWN = 6
LONGEST = 200
OWN_NAME = re.compile(r"plan-[a-z0-9]+(-\d+)?")
"""Names of plans and of what belongs to them: reasons that differ in these are one."""

RATE = {Window.PLAN: 0.9, Window.IDLE: 0.99}

Value = Callable[[Sequence[float]], float]


def cell_figures(cell: Cell, rows: Sequence[Row]) -> Iterator[Figure]:
    """Yield every figure of a cell; one that says so if it was not measured."""
    if not rows:
        yield _of(cell, "everything", "", [], max)
        return
    plans = [row for row in rows if row.window is Window.PLAN]
    yield from _plan_figures(cell, plans)
    yield from _cost_figures(cell, plans)
    yield from _wait_figures(cell, rows)
    if cell.beside:
        yield from _beside_figures(cell, rows)


def _plan_figures(cell: Cell, rows: Sequence[Row]) -> Iterator[Figure]:
    plans = [row.plan for row in rows if row.plan is not None]
    whole = sum(plan.ready_s is not None for plan in plans)
    note = _why_not_whole(plans)
    yield _of(
        cell, "from the first unschedulable pod to a stored plan", "s",
        [one.stored_s for one in plans], max,
    )  # fmt: skip
    yield _of(
        cell, "from the last arrival to a stored plan", "s",
        [one.stored_after_last_s for one in plans], max,
        _most(STORED_AFTER_LAST_S, cell, "s"),
    )  # fmt: skip
    yield _of(
        cell, "from the last arrival to all pods Ready", "s",
        [one.ready_s for one in plans], max, _most(READY_S, cell, "s"), note=note,
    )  # fmt: skip
    target = at_least(1.0) if cell.part in READY_S else None
    yield _of(
        cell, "share of the rounds that came to all pods Ready", "",
        [float(whole) / len(plans)] if plans else [], min, target, note=note,
    )  # fmt: skip
    yield _of(cell, "moves", "pods", [float(one.moved) for one in plans], max)
    left = [float(len(one.left)) for one in plans]
    what = "; ".join(text for one in plans for text in one.left[:1])
    yield _of(
        cell, "open plans and reservations left", "objects", left, max, at_most(0),
        note=what,
    )  # fmt: skip
    given_up = [float(len(one.given_up)) for one in plans]
    yield _of(cell, "plans given up", "plans", given_up, max, note=note)


def _cost_figures(cell: Cell, rows: Sequence[Row]) -> Iterator[Figure]:
    pairs = [(row, row.plan.moved + row.plan.placed) for row in rows if row.plan is not None]
    writes: Counter[str] = Counter()
    requests: Counter[str] = Counter()
    for row, _ in pairs:
        writes.update(row.writes)
        requests.update(row.requests)
    yield _of(
        cell, "API writes an arrival", "requests",
        [sum(row.writes.values()) / number for row, number in pairs if number], max,
        _most(WRITES_AN_ARRIVAL, cell), note=f"without events; {_counted(writes)}",
    )  # fmt: skip
    yield _of(
        cell, "API requests an arrival", "requests",
        [sum(row.requests.values()) / number for row, number in pairs if number], max,
        note=f"all, also for pods that no plan concerns; {_counted(requests)}",
    )  # fmt: skip
    for name in ("scheduler", "optimizer"):
        cpu_s = [row.cpu_s.get(name) for row in rows]
        yield _of(cell, f"CPU of the {name}", "s", cpu_s, max)
        peaks = [row.peak_bytes.get(name) for row in rows]
        mib = [None if one is None else one / MIB for one in peaks]
        yield _of(cell, f"peak memory of the {name}", "MiB", mib, max)


def _wait_figures(cell: Cell, rows: Sequence[Row]) -> Iterator[Figure]:
    for window in Window:
        chosen = [row for row in rows if row.window is window and row.tiny]
        waits = [max(_waits(row), default=None) for row in chosen]
        if window is Window.PLAN or cell.beside:
            yield _of(
                cell, f"{window}: longest wait of a pod that no plan concerns", "s",
                waits, max, _most(HOLD_S, cell, "s") if window is Window.PLAN else None,
            )  # fmt: skip
    yield _of(
        cell, "longest hold by the scheduler's histogram", "s",
        [row.longest_hold_s or 0.0 for row in rows if row.window is Window.PLAN], max,
        note="the upper end of its bucket; 0: no pod was held",
    )  # fmt: skip


def _beside_figures(cell: Cell, rows: Sequence[Row]) -> Iterator[Figure]:
    by = {(row.number, row.window): row for row in rows}
    numbers = [n for n in range(cell.rounds) if (n, Window.DEFAULT) in by]
    for window in (Window.IDLE, Window.PLAN):
        pairs = [(by[n, window], by[n, Window.DEFAULT]) for n in numbers if (n, window) in by]
        ratios = [_ratio(_rate(one), _rate(other)) for one, other in pairs]
        yield _of(
            cell, f"{window}: scheduling rate over that of default", "x", ratios,
            median, at_least(RATE[window]),
            note=f"default: {_rates(other for _, other in pairs)}",
        )  # fmt: skip


def _of(  # noqa: PLR0917 - it reads as a row of a table
    cell: Cell,
    name: str,
    unit: str,
    samples: Sequence[float | None],
    value: Value,
    target: Target | None = None,
    *,
    note: str = "",
) -> Figure:
    """Return a figure; one sample that was never reached leaves it without a value."""
    known = [one for one in samples if one is not None]
    full = f"{cell.name}: {name}"
    if len(known) == len(samples):
        return figure(full, unit, known, value, target, note=note)
    return Figure(
        full,
        None,
        unit,
        target=target.text if target else "",
        met=False if target else None,
        runs=len(samples),
        note=f"not reached in {len(samples) - len(known)} rounds; {note}".rstrip("; "),
    )


def _most(limits: dict[Part, float], cell: Cell, unit: str = "") -> Target | None:
    return at_most(limits[cell.part], unit) if cell.part in limits else None


def _why_not_whole(plans: Sequence[PlanRow]) -> str:
    """Return how many pods are not ready, and why plans were given up."""
    unready = sum(one.unready for one in plans)
    reasons = (text for one in plans for text in one.given_up)
    why = _counted(Counter(OWN_NAME.sub("it", text)[:LONGEST] for text in reasons))
    return "; ".join(filter(None, (f"{unready} pods not ready" if unready else "", why)))


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {what}" for what, number in counts.most_common(SHOWN))


def _waits(row: Row) -> list[float]:
    return [wait_s for _, wait_s in row.tiny if wait_s is not None]


def _rate(row: Row) -> float | None:
    """Return pods bound a second, from the first creation to the last binding."""
    ends = [came_s + wait_s for came_s, wait_s in row.tiny if wait_s is not None]
    return len(ends) / max(ends) if ends else None


def _rates(rows: Iterator[Row]) -> str:
    rates = [one for one in map(_rate, rows) if one is not None]
    return f"{median(rates):.0f} pods/s" if rates else "none"


def _ratio(one: float | None, other: float | None) -> float | None:
    return one / other if one is not None and other else None
