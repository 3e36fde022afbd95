"""From rows to figures: what plans took and cost, and what other pods felt of them."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from benchmarks.engine import ratio_figure
from benchmarks.live.cell import Cell, Part
from benchmarks.live.window import PlanRow, Row, Window
from stowage_testbed.metrics.footprint import UNKNOWN
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


def cell_figures(cell: Cell, rows: Sequence[Row]) -> Iterator[Figure]:
    """Yield every figure of a cell; one that says so if it was not measured."""
    if not rows:
        yield figure(f"{cell.name}: everything", "", [], max)
        return
    of_plans = [row for row in rows if row.window is Window.PLAN]
    plans = [(row, row.plan) for row in of_plans if row.plan is not None]
    yield from _plan_figures(cell, [plan for _, plan in plans])
    yield from _cost_figures(cell, plans)
    for window in Window:
        waits = [_longest_wait(row) for row in rows if row.window is window and row.tiny]
        if window is Window.PLAN or cell.beside:
            most = _most(HOLD_S, cell, "s") if window is Window.PLAN else None
            yield _of(cell, f"{window}: longest wait of a pod that no plan concerns", "s", waits, most)
    yield _of(
        cell, "longest hold by the scheduler's histogram", "s", [row.usage.longest_hold_s or 0.0 for row in of_plans],
        note="the upper end of its bucket; 0: no pod was held",
    )  # fmt: skip
    if cell.beside:
        yield from _beside_figures(cell, rows)


def _plan_figures(cell: Cell, plans: Sequence[PlanRow]) -> Iterator[Figure]:
    note, part = _why_not_whole(plans), cell.part
    whole = [float(sum(plan.ready_s is not None for plan in plans)) / len(plans)] if plans else []
    left = "; ".join(text for one in plans for text in one.left[:1])
    yield _of(cell, "from the first unschedulable pod to a stored plan", "s", [one.stored_s for one in plans])
    yield _of(
        cell, "from the last arrival to a stored plan", "s", [one.stored_after_last_s for one in plans],
        _most(STORED_AFTER_LAST_S, cell, "s"),
    )  # fmt: skip
    yield _of(
        cell, "from the last arrival to all pods Ready", "s", [one.ready_s for one in plans],
        _most(READY_S, cell, "s"), note=note,
    )  # fmt: skip
    yield _of(
        cell, "share of the rounds that came to all pods Ready", "", whole,
        at_least(1.0) if part in READY_S else None, note=note,
    )  # fmt: skip
    yield _of(cell, "moves", "pods", [float(one.moved) for one in plans])
    yield _of(
        cell, "open plans and reservations left", "objects", [float(len(one.left)) for one in plans],
        at_most(0), note=left,
    )  # fmt: skip
    yield _of(cell, "plans given up", "plans", [float(len(one.given_up)) for one in plans], note=note)


def _cost_figures(cell: Cell, plans: Sequence[tuple[Row, PlanRow]]) -> Iterator[Figure]:
    for what, counts, target, note in (
        ("writes", [row.usage.writes for row, _ in plans], _most(WRITES_AN_ARRIVAL, cell), "without events"),
        ("requests", [row.usage.requests for row, _ in plans], None, "all, also for pods that no plan concerns"),
    ):
        arrivals = [plan.moved + plan.placed for _, plan in plans]
        samples = [sum(one.values()) / number for one, number in zip(counts, arrivals, strict=True) if number]
        total = sum(map(Counter, counts), Counter[str]())
        yield _of(cell, f"API {what} an arrival", "requests", samples, target, note=f"{note}; {_counted(total)}")
    for name in ("scheduler", "optimizer"):
        taken = [row.usage.footprints.get(name, UNKNOWN) for row, _ in plans]
        yield _of(cell, f"CPU of the {name}", "s", [one.cpu_s for one in taken])
        peaks = [one.peak_memory_bytes for one in taken]
        yield _of(cell, f"peak memory of the {name}", "MiB", [None if one is None else one / MIB for one in peaks])


def _beside_figures(cell: Cell, rows: Sequence[Row]) -> Iterator[Figure]:
    by = {(row.number, row.window): _rate(row) for row in rows}
    for window in (Window.IDLE, Window.PLAN):
        name = f"{window}: scheduling rate over that of default"
        pairs = [(by.get((n, window)), by.get((n, Window.DEFAULT))) for n in range(cell.rounds)]
        ratios = [one / other if one and other else None for one, other in pairs]
        rates = [other for _, other in pairs if other]
        note = f"default: {median(rates):.0f} pods/s" if rates else "default: none"
        if None in ratios:
            yield _of(cell, name, "x", ratios, at_least(RATE[window]), note=note)
        else:
            yield ratio_figure(f"{cell.name}: {name}", [one for one in ratios if one], RATE[window], note)


def _of(
    cell: Cell, name: str, unit: str, samples: Sequence[float | None], target: Target | None = None, *, note: str = ""
) -> Figure:
    """Return the largest sample; one that was never reached leaves no value."""
    known = [one for one in samples if one is not None]
    full = f"{cell.name}: {name}"
    if len(known) == len(samples):
        return figure(full, unit, known, max, target, note=note)
    note = f"not reached in {len(samples) - len(known)} rounds; {note}".rstrip("; ")
    met = False if target else None
    return Figure(full, None, unit, target.text if target else "", met, len(samples), note=note)


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


def _longest_wait(row: Row) -> float | None:
    return max((wait_s for _, wait_s in row.tiny if wait_s is not None), default=None)


def _rate(row: Row) -> float | None:
    """Return pods bound a second, from the first creation to the last binding."""
    ends = [came_s + wait_s for came_s, wait_s in row.tiny if wait_s is not None]
    return len(ends) / max(ends) if ends else None
