"""Placing pods with relations, next to a plan for all other pods.

Strategies leave pods with affinity, spread, or anti-affinity that is no capacity alone.
Once there is a plan, such waiting pods are placed where relations and room allow; no
pod moves for them. This takes little time, also where there are many pods.
"""

from __future__ import annotations

from dataclasses import replace

from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.solution import Solution, TierResult
from stowage_optimizer.strategies.bounds import trivial_bounds
from stowage_optimizer.strategies.budget import Budget, Reserve
from stowage_optimizer.strategies.incumbent import SolutionWriter
from stowage_optimizer.strategies.repair import repair_relations

SETTLING = Reserve(pods_per_s=15_000, least_share=0.1, most_share=0.5)
"""For going through the pods: 40,000 of them on 5,000 nodes took 2.2 s beside other
work on 2 cores. Where it takes too much of the limit, pods are left waiting."""


def placed(solution: Solution, packing: Packing, budget: Budget) -> Solution:
    """Return ``solution`` with more pods placed, if there are any that may be."""
    wanted = solution.on(packing)
    settled = repair_relations(packing, wanted, budget.over)
    if settled is None or not _only_adds(wanted, settled):
        return solution
    return _extended(SolutionWriter(packing, budget.policy), solution, settled)


def _only_adds(wanted: Assignment, settled: Assignment) -> bool:
    """Return whether ``settled`` places more pods and leaves all others as wanted."""
    return wanted != settled and all(
        one is None or one == other for one, other in zip(wanted, settled, strict=True)
    )


def _extended(writer: SolutionWriter, whole: Solution, settled: Assignment) -> Solution:
    """Return ``settled``, claiming what is proved of ``whole`` and more."""
    more = writer.write(settled, trivial_bounds(writer.packing))
    tiers: list[TierResult] = []
    proved = True
    for mine, known in zip(more.tiers, whole.tiers, strict=True):
        waiting = _demanding_from(writer.packing, mine.priority)
        # All pods that the inner solution was proved for, and those that it left out.
        limit = max(mine.placed, min(mine.upper_bound, known.upper_bound + waiting))
        proved = proved and known.optimal and mine.placed == known.placed + waiting
        tiers.append(
            replace(known, placed=mine.placed, upper_bound=mine.placed)
            if proved
            else replace(mine, upper_bound=limit, optimal=False)
        )
    curve = whole.gain_by_moves
    if curve:
        curve = (*curve[:-1], replace(curve[-1], placed=more.tiers[-1].placed))
    return replace(
        whole,
        packing=writer.packing,
        assignment=settled,
        tiers=tuple(tiers),
        gain_by_moves=curve,
    )


def _demanding_from(packing: Packing, priority: int) -> int:
    """Return how many pods that wait, of ``priority`` and above, have demands."""
    relations = packing.relations
    if relations is None:
        return 0
    return sum(
        item.home is None and item.priority >= priority and class_id in relations.rules
        for item, class_id in zip(packing.items, relations.class_of, strict=True)
    )
