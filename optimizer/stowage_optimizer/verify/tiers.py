"""The plan's own account of its tiers is true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.violation import Violation

MOVE_WEIGHT = 2
EVICTION_WEIGHT = 3


def count_tiers(case: Case) -> list[tuple[int, int, int, int]]:
    """Return (priority, placed before, placed after, disruption), highest first."""
    before, after = case.placed_before, case.placed_before.copy()
    disruption: Counter[int] = Counter()
    for uid, now in case.touched.items():
        priority, was = case.priority(uid), case.before[uid]
        after[priority] += bool(now) - bool(was)
        if was and was != now:
            disruption[priority] += MOVE_WEIGHT if now else EVICTION_WEIGHT
    counted = []
    reached = (0, 0, 0)
    priorities = {case.classes[name].priority for name in case.present}
    for priority in sorted(priorities, reverse=True):
        own = (before[priority], after[priority], disruption[priority])
        reached = (reached[0] + own[0], reached[1] + own[1], reached[2] + own[2])
        counted.append((priority, *reached))
    return counted


def check_tiers(case: Case) -> Iterator[Violation]:
    """Yield tiers whose numbers are not those of the plan's changes."""
    counted = count_tiers(case)
    claimed = [
        (one.priority, one.placed_before, one.placed, one.disruption)
        for one in case.plan.tiers
    ]
    if [one[0] for one in counted] != [one[0] for one in claimed]:
        wanted = ", ".join(str(one[0]) for one in counted)
        yield Violation("tiers", "plan", f"tiers must be {wanted}, highest first")
        return
    for actual, said in zip(counted, claimed, strict=True):
        if actual != said:
            yield Violation(
                "tiers",
                str(actual[0]),
                f"before, placed, disruption are {actual[1:]}, said {said[1:]}",
            )


def check_bounds(case: Case) -> Iterator[Violation]:
    """Yield bounds that contradict what was reached, or claims without a proof."""
    for tier in case.plan.tiers:
        if tier.upper_bound < tier.placed:
            yield _contradiction(tier, "upper bound below placed")
        if tier.disruption_lower_bound > tier.disruption:
            yield _contradiction(tier, "disruption below its lower bound")
        closed = (
            tier.upper_bound == tier.placed
            and tier.disruption_lower_bound == tier.disruption
        )
        if tier.optimal and not closed:
            yield _contradiction(tier, "optimal, but its bounds are open")
    proved = [tier.optimal for tier in case.plan.tiers]
    if proved != sorted(proved, reverse=True):
        yield Violation("bounds", "plan", "a tier is optimal below one that is not")
    if case.plan.optimal != all(proved):
        yield Violation("bounds", "plan", "optimal must mean that every tier is")


def _contradiction(tier: pb.TierResult, what: str) -> Violation:
    return Violation("bounds", str(tier.priority), what)
