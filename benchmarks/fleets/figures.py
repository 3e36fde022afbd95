"""What the records of fleets come to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median

from benchmarks.fleets.scope import DEFAULT_LIMIT_S, MADE, OURS, Ask
from benchmarks.optimizer.certificates import compared, contradictions
from benchmarks.optimizer.record import Record
from stowage_testbed.text.figure import (
    Figure,
    Target,
    at_least,
    at_most,
    figure,
    share_percent,
)

FULL_PERCENT = 100
GIB = 1024**3
LATE_MS = 50
FIRST_S = {150: 0.06, 1523: 0.35, 5000: 1.0, 15_000: 4.0}
"""First checked plan, from the request on, by nodes."""

GAP_PERCENT = {10.0: 0.5, 60.0: 0.1}
"""Of what the lowest tier places, by limit in seconds, on fleets of the trace."""

MADE_GAP_PERCENT = {5000: 1.0}
MOST_BYTES = {15_000: 1.5 * GIB}
PROVED_60_PERCENT = 90
EMPTIED_GAP_PERCENT = 5


@dataclass(frozen=True, slots=True)
class Answer:
    """A call and what it gave."""

    ask: Ask
    record: Record

    @property
    def gap_percent(self) -> float:
        """What is open of the pods that the lowest tier places."""
        last = self.record.tiers[-1]
        return FULL_PERCENT * (last.upper_bound - last.placed) / max(1, last.placed)


def fleet_figures(answers: list[Answer]) -> Iterator[Figure]:
    """Yield all figures."""
    ours = [one for one in answers if one.ask.strategy == OURS]
    plans = [one for one in ours if not one.ask.consolidates]
    yield from _first_plans(plans)
    yield from _small(plans)
    yield from _gaps(plans)
    yield from _upper_tiers(plans)
    yield from _made(plans)
    yield from _compared(answers)
    yield from _emptied([one for one in ours if one.ask.consolidates])
    late = [1000 * (one.record.wall_s - one.ask.limit_s) for one in plans]
    yield figure(
        "answer after the limit, at most", "ms", late, max, at_most(LATE_MS, "ms")
    )


def _first_plans(plans: list[Answer]) -> Iterator[Figure]:
    at_default: defaultdict[int, list[Answer]] = defaultdict(list)
    for one in plans:
        if one.ask.limit_s == DEFAULT_LIMIT_S:
            at_default[one.ask.sample.nodes].append(one)
    for nodes, group in sorted(at_default.items()):
        first = [one.record.first_plan_s for one in group]
        limit_s = FIRST_S.get(nodes)
        yield figure(
            f"{nodes} nodes: a plan at {DEFAULT_LIMIT_S:g} s", "%",
            [float(one is not None) for one in first], share_percent,
            at_least(FULL_PERCENT, "%"), spread=False,
        )  # fmt: skip
        yield figure(
            f"{nodes} nodes: first checked plan", "s",
            [one for one in first if one is not None], median,
            at_most(limit_s, "s") if limit_s else None,
        )  # fmt: skip


def _small(plans: list[Answer]) -> Iterator[Figure]:
    sizes = {one.ask.sample.nodes for one in plans}
    small = [one for one in plans if one.ask.sample.nodes == min(sizes, default=0)]
    for nodes in {one.ask.sample.nodes for one in small}:
        yield figure(
            f"{nodes} nodes: all phases proved", "%",
            [float(one.record.optimal) for one in small], share_percent,
            at_least(PROVED_60_PERCENT, "%"), spread=False,
        )  # fmt: skip
        yield figure(
            f"{nodes} nodes: answer", "s", [one.record.wall_s for one in small], median
        )


def _gaps(plans: list[Answer]) -> Iterator[Figure]:
    groups: defaultdict[tuple[float, int], list[float]] = defaultdict(list)
    for one in plans:
        if one.ask.sample.pods != MADE:
            key = one.ask.limit_s, one.ask.sample.nodes
            groups[key].append(one.gap_percent)
    for (limit_s, nodes), gaps in sorted(groups.items()):
        wanted = GAP_PERCENT.get(limit_s)
        yield figure(
            f"{nodes} nodes, {limit_s:g} s: gap of the lowest tier's pods", "%",
            gaps, median, at_most(wanted, "%") if wanted else None,
            note=f"largest {max(gaps):.2f}",
        )  # fmt: skip


def _upper_tiers(plans: list[Answer]) -> Iterator[Figure]:
    """Yield of how many fleets all tiers but the lowest are proved."""
    groups: defaultdict[tuple[float, int], list[float]] = defaultdict(list)
    for one in plans:
        upper = one.record.tiers[:-1]
        if upper and one.ask.sample.pods != MADE:
            done = all(tier.optimal for tier in upper)
            groups[one.ask.limit_s, one.ask.sample.nodes].append(float(done))
    for (limit_s, nodes), proved in sorted(groups.items()):
        yield figure(
            f"{nodes} nodes, {limit_s:g} s: all upper tiers proved", "%", proved,
            share_percent, spread=False,
        )  # fmt: skip


def _made(plans: list[Answer]) -> Iterator[Figure]:
    groups: defaultdict[int, list[Answer]] = defaultdict(list)
    for one in plans:
        if one.ask.sample.pods == MADE and one.ask.limit_s > DEFAULT_LIMIT_S:
            groups[one.ask.sample.nodes].append(one)
    for nodes, group in sorted(groups.items()):
        gap, memory = MADE_GAP_PERCENT.get(nodes), MOST_BYTES.get(nodes)
        yield figure(
            f"made, {nodes} nodes, {group[0].ask.limit_s:g} s: gap of the lowest tier",
            "%", [one.gap_percent for one in group], median,
            at_most(gap, "%") if gap else None,
        )  # fmt: skip
        yield figure(
            f"made, {nodes} nodes: memory", "GiB",
            [one.record.peak_bytes / GIB for one in group if one.record.peak_bytes],
            max, at_most(memory / GIB, "GiB") if memory else None,
            note="service and children, shared pages once",
        )  # fmt: skip


def _compared(answers: list[Answer]) -> Iterator[Figure]:
    """Yield who is better, and whether any plan contradicts any limit."""
    pairs = list(_pairs(answers))
    none: Target = at_most(0)
    for rival in sorted({other.ask.strategy for _, other in pairs}):
        own = [
            (mine.record.value, other.record.value)
            for mine, other in pairs
            if other.ask.strategy == rival
        ]
        worse = [float(mine < theirs) for mine, theirs in own]
        better = [float(mine > theirs) for mine, theirs in own]
        yield figure(f"worse than {rival}", "fleets", worse, sum, none, spread=False)
        yield figure(f"better than {rival}", "fleets", better, sum, spread=False)
    records = [one.record for one in answers if not one.ask.consolidates]
    found = contradictions(records)
    yield Figure(
        name="limits that some plan contradicts",
        value=len(found) if records else None,
        unit="limits",
        target=none.text,
        met=not found if records else None,
        runs=compared(records),
        note="; ".join(found[:3]) or "all runs of a fleet against each other",
    )


def _pairs(answers: Iterable[Answer]) -> Iterator[tuple[Answer, Answer]]:
    """Yield our answers with those of others that had as long."""
    groups: defaultdict[tuple[str, float], list[Answer]] = defaultdict(list)
    for one in answers:
        if not one.ask.consolidates:
            groups[one.ask.sample.name, one.ask.limit_s].append(one)
    for group in groups.values():
        mine = [one for one in group if one.ask.strategy == OURS]
        others = [one for one in group if one.ask.strategy != OURS]
        yield from ((one, other) for one in mine for other in others)


def _emptied(answers: list[Answer]) -> Iterator[Figure]:
    gaps = []
    for one in answers:
        record = one.record
        most = record.nodes_before - record.nodes_lower_bound
        emptied = record.nodes_before - record.nodes_after
        gaps.append(FULL_PERCENT * (most - emptied) / max(1, most))
    yield figure(
        "consolidate: open of the nodes that may be emptied", "%", gaps, median,
        at_most(EMPTIED_GAP_PERCENT, "%"),
    )  # fmt: skip
