"""The plan disrupts no more than was asked for, and its curve is that of a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.violation import Violation


def check_limits(case: Case) -> Iterator[Violation]:
    """Yield limits of the request that the plan goes beyond."""
    asked, plan = case.asked, case.plan
    if asked.HasField("max_moves") and len(plan.moves) > asked.max_moves:
        yield _beyond("max_moves", f"{len(plan.moves)}, not {asked.max_moves}")
    if asked.HasField("max_evictions") and len(plan.evictions) > asked.max_evictions:
        yield _beyond("max_evictions", f"{len(plan.evictions)}")
    if asked.HasField("max_disruptions_per_owner"):
        for owner, count in _by_owner(case).items():
            if count > asked.max_disruptions_per_owner:
                yield _beyond("max_disruptions_per_owner", f"{count} of {owner}")
    least = asked.min_gain_per_move * len(plan.moves)
    if not case.consolidates and len(plan.placements) < least:
        yield _beyond("min_gain_per_move", f"{len(plan.placements)}, not {least}")


def check_gains(case: Case) -> Iterator[Violation]:
    """Yield points of the curve that do not rise, or do not end at the plan."""
    points = [(one.moves, one.placed) for one in case.plan.gain_by_moves]
    if not points:
        return
    placed = sum(case.placed_before.values())
    placed += sum(
        bool(node) - bool(case.before[uid]) for uid, node in case.touched.items()
    )
    if points[-1] != (len(case.plan.moves), placed):
        yield Violation("gains", "plan", f"the curve ends at {points[-1]}")
    for one, other in pairwise(points):
        if one[0] >= other[0] or one[1] >= other[1]:
            yield Violation("gains", "plan", f"{other} comes after {one}")


def _by_owner(case: Case) -> Counter[str]:
    disrupted = [one.pod_uid for one in case.moves]
    disrupted += [one.pod_uid for one in case.evictions]
    owners = (case.class_of(uid).owner.uid for uid in disrupted)
    return Counter(owner for owner in owners if owner)


def _beyond(limit: str, what: str) -> Violation:
    return Violation("limits", limit, f"the plan has {what}")
