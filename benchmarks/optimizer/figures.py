"""What the records of fleets come to."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import permutations
from statistics import median
from typing import TypeVar

from benchmarks.optimizer.measurement import Record, Value
from benchmarks.optimizer.scope import LIMIT_S, MADE, OURS, Aim, Ask
from stowage_testbed.text.figure import Figure, at_least, at_most, figure, share_percent


def contradictions(records: Iterable[Record]) -> list[str]:
    """Return each claim that a better plan for the same case refutes, in a sentence."""
    return [
        f"{claimer.case}: {claimer.arm} claims {claim}, but {other.arm} {fact}"
        for claimer, other in _claims(records)
        for claim, fact in _refuted(claimer, other)
    ]


def _claims(records: Iterable[Record]) -> Iterator[tuple[Record, Record]]:
    """Yield each claim with a run that may refute it: any two runs of one case."""
    by_case: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_case[record.case].append(record)
    for group in by_case.values():
        for claimer, other in permutations(group, 2):
            # What a strategy leaves alone is no part of its claims.
            if claimer.refused == other.refused:
                yield claimer, other


def _refuted(claimer: Record, other: Record) -> Iterator[tuple[str, str]]:
    """Yield the claims of one record that the other one refutes.

    A limit holds for every plan that is as good or better in each number before it:
    those of the tiers above, then the earlier ones of its own tier. That a tier is
    optimal is refuted by the first number, of all in order, that is better.
    """
    for number, claim in enumerate(claimer.tiers):
        own, found = claimer.value[number], other.value[number]
        same_above = claimer.value[:number] == other.value[:number]
        if claim.optimal and same_above and found > own:
            yield f"tier {number} optimal at {own}", f"reached {found}"
        if not _as_good(claimer.value, other.value, number) or found[0] < own[0]:
            return
        if found[1] > claim.upper_bound:
            yield f"tier {number} places {claim.upper_bound}", f"placed {found[1]}"
        if found[1] >= own[1] and -found[2] < claim.disruption_lower_bound:
            yield (f"tier {number} disrupts {claim.disruption_lower_bound}", f"disrupted {-found[2]}")


def _as_good(own: Value, found: Value, tiers: int) -> bool:
    """Return whether no number of the first ``tiers`` is worse than the own one."""
    return all(
        theirs >= mine
        for one, other in zip(own[:tiers], found[:tiers], strict=True)
        for mine, theirs in zip(one, other, strict=True)
    )


FULL_PERCENT = 100
SHOWN = 3
GIB = 1024**3
LATE_MS = 50
FIRST_S = {150: 0.06, 1523: 0.35, 5000: 1.0, 15_000: 4.0}
"""First checked plan, from the request on, by nodes."""

GAP_PERCENT = {10.0: 0.5, 60.0: 0.1}
"""Of what the lowest tier places, by limit in seconds, on fleets of the trace."""

MADE_GAP_PERCENT = {5000: 1.0}
MOST_GIB = {15_000: 1.5}
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
    plans = [one for one in ours if one.ask.aim is Aim.PLACE]
    real = [one for one in plans if one.ask.sample.pods != MADE]
    yield from _first_plans([one for one in plans if one.ask.limit_s == LIMIT_S])
    yield from _real(real)
    yield from _made([one for one in plans if one.ask.sample.pods == MADE and one.ask.limit_s > LIMIT_S])
    yield from _compared(answers)
    yield from _emptied([one for one in ours if one.ask.aim is not Aim.PLACE])
    late = [1000 * (one.record.wall_s - one.ask.limit_s) for one in plans]
    yield figure("answer after the limit, at most", "ms", late, max, at_most(LATE_MS, "ms"))


def _share(name: str, whether: Iterable[bool], least: float | None = None) -> Figure:
    target = at_least(least, "%") if least else None
    return figure(name, "%", [float(one) for one in whether], share_percent, target, spread=False)


def _first_plans(plans: list[Answer]) -> Iterator[Figure]:
    for nodes, group in _grouped(plans, _nodes):
        records, limit_s = [one.record for one in group], FIRST_S.get(nodes)
        first = [one.first_plan_s for one in records if one.first_plan_s is not None]
        # Where nothing can be gained there is no plan, and that is proved.
        there = [one.optimal or one.first_plan_s is not None for one in records]
        yield _share(f"{nodes} nodes: a plan at {LIMIT_S:g} s, or none is better", there, FULL_PERCENT)
        target = at_most(limit_s, "s") if limit_s else None
        yield figure(f"{nodes} nodes: first checked plan", "s", first, median, target)


def _real(plans: list[Answer]) -> Iterator[Figure]:
    """Yield what is proved: all of the smallest fleets, the tiers and gaps of all others."""
    for nodes, small in _grouped(plans, _nodes)[:1]:
        proved = [one.record.optimal for one in small]
        yield _share(f"{nodes} nodes: all phases proved", proved, PROVED_60_PERCENT)
        yield figure(f"{nodes} nodes: answer", "s", [one.record.wall_s for one in small], median)
    for (limit_s, nodes), group in _grouped(plans, lambda one: (one.ask.limit_s, _nodes(one))):
        name, wanted = f"{nodes} nodes, {limit_s:g} s", GAP_PERCENT.get(limit_s)
        gaps = [one.gap_percent for one in group]
        yield figure(
            f"{name}: gap of the lowest tier's pods", "%", gaps, median,
            at_most(wanted, "%") if wanted else None, note=f"largest {max(gaps):.2f}",
        )  # fmt: skip
        upper = [one.record.tiers[-2].optimal for one in group if len(one.record.tiers) > 1]
        if upper:
            yield _share(f"{name}: all upper tiers proved", upper)


def _made(plans: list[Answer]) -> Iterator[Figure]:
    for nodes, group in _grouped(plans, _nodes):
        gap, memory = MADE_GAP_PERCENT.get(nodes), MOST_GIB.get(nodes)
        yield figure(
            f"made, {nodes} nodes, {group[0].ask.limit_s:g} s: gap of the lowest tier", "%",
            [one.gap_percent for one in group], median, at_most(gap, "%") if gap else None,
        )  # fmt: skip
        yield figure(
            f"made, {nodes} nodes: memory", "GiB",
            [one.record.peak_bytes / GIB for one in group if one.record.peak_bytes], max,
            at_most(memory, "GiB") if memory else None, note="service and children, shared pages once",
        )  # fmt: skip


def _compared(answers: list[Answer]) -> Iterator[Figure]:
    """Yield who is better, and whether any plan contradicts any limit."""
    pairs = list(_pairs(answers))
    for rival in sorted({other.ask.strategy for _, other in pairs}):
        own = [(mine.record.value, other.record.value) for mine, other in pairs if other.ask.strategy == rival]
        worse = [float(mine < theirs) for mine, theirs in own]
        better = [float(mine > theirs) for mine, theirs in own]
        yield figure(f"worse than {rival}", "fleets", worse, sum, at_most(0), spread=False)
        yield figure(f"better than {rival}", "fleets", better, sum, spread=False)
    records = [one.record for one in answers if one.ask.aim is Aim.PLACE]
    found = contradictions(records)
    yield Figure(
        "limits that some plan contradicts", len(found) if records else None, "claims", "<= 0",
        not found if records else None, len(records),
        note="; ".join(found[:SHOWN]) or "all runs of an instance against each other",
    )  # fmt: skip


def _pairs(answers: Iterable[Answer]) -> Iterator[tuple[Answer, Answer]]:
    """Yield our answers with those of others that had as long."""
    plans = [one for one in answers if one.ask.aim is Aim.PLACE]
    for _, group in _grouped(plans, lambda one: (one.ask.sample.name, one.ask.limit_s)):
        mine = [one for one in group if one.ask.strategy == OURS]
        others = [one for one in group if one.ask.strategy != OURS]
        yield from ((one, other) for one in mine for other in others)


def _emptied(answers: list[Answer]) -> Iterator[Figure]:
    for aim, group in _grouped(answers, lambda one: one.ask.aim.value):
        shares = []
        for record in (one.record for one in group):
            before, after, least = record.price_micros if aim == Aim.CHEAPEST else record.nodes
            shares.append(FULL_PERCENT * (after - least) / max(1, before - least))
        target = at_most(EMPTIED_GAP_PERCENT, "%")
        yield figure(f"{aim}: open of what may be saved", "%", shares, median, target)


Key = TypeVar("Key", int, str, tuple[float, int], tuple[str, float])


def _grouped(answers: Iterable[Answer], key: Callable[[Answer], Key]) -> list[tuple[Key, list[Answer]]]:
    """Return the answers by a key, in its order."""
    groups: defaultdict[Key, list[Answer]] = defaultdict(list)
    for one in answers:
        groups[key(one)].append(one)
    return sorted(groups.items(), key=lambda item: item[0])


def _nodes(answer: Answer) -> int:
    return answer.ask.sample.nodes
