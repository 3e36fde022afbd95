"""From a trimmed assignment to a plan that claims no more than still holds."""

from __future__ import annotations

from dataclasses import replace

from stowage_optimizer.model.objective import score
from stowage_optimizer.model.packing import Assignment
from stowage_optimizer.model.plan import Plan, TierResult
from stowage_optimizer.strategies.bounds import trivial_bounds
from stowage_optimizer.strategies.planning import PlanWriter


def rewrite(
    writer: PlanWriter, whole: Plan, assignment: Assignment, trimmed: Assignment
) -> Plan:
    """Return ``trimmed`` as a plan.

    Parameters
    ----------
    writer
        Writes plans of the problem.
    whole
        The plan that was trimmed, and what is proved of it.
    assignment
        The assignment of ``whole``.
    trimmed
        The part that is left of it.
    """
    plan = writer.write(trimmed, trivial_bounds(writer.packing))
    before = score(writer.packing, assignment, writer.policy)
    after = score(writer.packing, trimmed, writer.policy)
    changed = [
        (priority, one.kept == other.kept)
        for priority, one, other in zip(
            writer.packing.tiers, before, after, strict=True
        )
        if one != other
    ]
    if not whole.tiers:
        return plan
    if not changed:
        return replace(plan, tiers=whole.tiers)
    first, keeps = changed[0]
    tiers = []
    for mine, proved in zip(plan.tiers, whole.tiers, strict=True):
        if mine.priority > first:
            tiers.append(proved)
        elif mine.priority == first and keeps:
            tiers.append(_limited(mine, proved))
        else:
            # Its limits were proved for another outcome of the phases before.
            tiers.append(_limited(mine, mine))
    return replace(plan, tiers=tuple(tiers))


def _limited(mine: TierResult, proved: TierResult) -> TierResult:
    """Return a tier limited by what is ``proved`` of its pods, and of nothing else."""
    return replace(
        mine,
        upper_bound=max(mine.placed, min(mine.upper_bound, proved.upper_bound)),
        disruption_lower_bound=0,
        optimal=False,
    )
