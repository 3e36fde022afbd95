"""Claims of proof that another run refutes: a wrong certificate is the worst bug."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import permutations

from testbed.bench.record import Record


def contradictions(records: Iterable[Record]) -> list[str]:
    """Return each claim that a better plan for the same case refutes, in a sentence."""
    by_case: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_case[record.case].append(record)
    return [
        f"{claimer.case}: {claimer.arm} claims {claim}, but {other.arm} {fact}"
        for group in by_case.values()
        for claimer, other in permutations(group, 2)
        # What a strategy leaves alone is no part of its claims.
        if claimer.refused == other.refused
        for claim, fact in _refuted(claimer, other)
    ]


def _refuted(claimer: Record, other: Record) -> Iterator[tuple[str, str]]:
    """Yield the claims of one record that the other one refutes.

    A claim on a tier holds given what the tiers above reached, so only a plan that
    reaches the same there, or more than an optimum there, can refute it.
    """
    tiers = zip(claimer.tiers, claimer.value, other.value, strict=True)
    for number, (claim, own, found) in enumerate(tiers):
        if claim.optimal and found > own:
            yield f"tier {number} optimal at {own}", f"reached {found}"
        same_kept = own[0] == found[0]
        if same_kept and found[1] > claim.upper_bound:
            yield f"tier {number} places {claim.upper_bound}", f"placed {found[1]}"
        same_placed = own[:2] == found[:2]
        if same_placed and -found[2] < claim.disruption_lower_bound:
            yield (
                f"tier {number} disturbs {claim.disruption_lower_bound}",
                f"disturbed {-found[2]}",
            )
        if own != found:
            return
