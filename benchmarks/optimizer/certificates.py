"""Claims of proof that another run refutes: a wrong certificate is the worst bug."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import permutations

from benchmarks.optimizer.record import Record, Value
from stowage_testbed.text.figure import Figure


def contradictions(records: Iterable[Record]) -> list[str]:
    """Return each claim that a better plan for the same case refutes, in a sentence."""
    return [
        f"{claimer.case}: {claimer.arm} claims {claim}, but {other.arm} {fact}"
        for claimer, other in _pairs(records)
        for claim, fact in _refuted(claimer, other)
    ]


def _pairs(records: Iterable[Record]) -> Iterator[tuple[Record, Record]]:
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
            yield (
                f"tier {number} disrupts {claim.disruption_lower_bound}",
                f"disrupted {-found[2]}",
            )


def _as_good(own: Value, found: Value, tiers: int) -> bool:
    """Return whether no number of the first ``tiers`` is worse than the own one."""
    return all(
        theirs >= mine
        for one, other in zip(own[:tiers], found[:tiers], strict=True)
        for mine, theirs in zip(one, other, strict=True)
    )


SHOWN = 3


def refuted(name: str, records: Collection[Record]) -> Figure:
    """Return how many claims some other run refutes, under ``name``."""
    found = contradictions(records)
    return Figure(
        name=name,
        value=len(found) if records else None,
        unit="claims",
        target="<= 0",
        met=not found if records else None,
        runs=len(records),
        note="; ".join(found[:SHOWN]) or "all runs of an instance against each other",
    )
