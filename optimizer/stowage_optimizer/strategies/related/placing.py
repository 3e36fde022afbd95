"""Placing pods with relations, next to a plan for all other pods.

Strategies leave pods with affinity, spread, or anti-affinity that is no capacity alone.
Once there is a plan, such waiting pods are placed where relations and room allow; no
pod moves for them. This takes little time, also where there are many pods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.model.options import Clock, SolveOptions
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.plan import Plan, TierResult
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.strategies.bounds import trivial_bounds
from stowage_optimizer.strategies.early import Afterwards, solved_early
from stowage_optimizer.strategies.planning import PlanWriter
from stowage_optimizer.strategies.reading import assignment_of
from stowage_optimizer.strategies.relation_repair import repair_relations
from stowage_optimizer.strategies.strategy import Answer, Strategy, end_reason_of

SETTLING = Afterwards(least_share=0.1, pods_per_s=15_000, most_share=0.5)
"""Going through the pods: 40,000 of them on 5,000 nodes took 2.2 s beside other work on
2 cores. Where it takes too much of the limit, pods are left waiting."""


@dataclass(frozen=True, slots=True)
class Placing:
    """A strategy whose last plan also places pods with demands on other pods.

    Parameters
    ----------
    inner
        Finds the plans for all other pods.
    """

    inner: Strategy

    def solve(
        self,
        snapshot: Snapshot,
        options: SolveOptions,
        *,
        clock: Clock,
        publish: Callable[[Plan], None],
    ) -> Answer:
        """Return the inner plan with more pods placed; see `Strategy.solve`."""
        kept_back_s = SETTLING.kept_back_s(snapshot, options)
        if kept_back_s is None or not _waiting(snapshot):
            return self.inner.solve(snapshot, options, clock=clock, publish=publish)
        answer, stop = solved_early(
            self.inner, kept_back_s, snapshot, options, clock=clock, publish=publish
        )
        packing = reduce_snapshot(snapshot, relations=True)
        wanted = assignment_of(packing, answer.plan)
        settled = repair_relations(packing, wanted, stop)
        if settled is None or not _only_adds(wanted, settled):
            return answer
        writer = PlanWriter(snapshot, packing, options.policy)
        plan = _extended(writer, answer.plan, settled)
        publish(plan)
        return replace(answer, plan=plan, end_reason=end_reason_of(plan))


def _waiting(snapshot: Snapshot) -> bool:
    """Return whether a pod waits whose class has demands on other pods."""
    demanding = {name for name, one in snapshot.classes.items() if one.demanding}
    return any(pod.node is None and pod.class_id in demanding for pod in snapshot.pods)


def _only_adds(wanted: Assignment, settled: Assignment) -> bool:
    """Return whether ``settled`` places more pods and leaves all others as wanted."""
    return wanted != settled and all(
        one is None or one == other for one, other in zip(wanted, settled, strict=True)
    )


def _extended(writer: PlanWriter, whole: Plan, settled: Assignment) -> Plan:
    """Return ``settled`` as a plan that claims what is proved of ``whole`` and more."""
    packing = writer.packing
    plan = writer.write(settled, trivial_bounds(packing))
    tiers: list[TierResult] = []
    proved = True
    for mine, known in zip(plan.tiers, whole.tiers, strict=True):
        waiting = _demanding_from(packing, mine.priority)
        # All pods that the inner plan was proved for, and those that it left out.
        limit = max(mine.placed, min(mine.upper_bound, known.upper_bound + waiting))
        proved = proved and known.optimal and mine.placed == known.placed + waiting
        tiers.append(
            replace(known, placed=mine.placed, upper_bound=mine.placed)
            if proved
            else replace(mine, upper_bound=limit, optimal=False)
        )
    curve = whole.gain_by_moves
    if curve:
        placed = plan.tiers[-1].placed
        curve = (*curve[:-1], replace(curve[-1], placed=placed))
    return replace(plan, tiers=tuple(tiers), gain_by_moves=curve)


def _demanding_from(packing: Packing, priority: int) -> int:
    """Return how many pods that wait, of ``priority`` and above, have demands."""
    relations = packing.relations
    if relations is None:
        return 0
    return sum(
        item.home is None and item.priority >= priority and class_id in relations.rules
        for item, class_id in zip(packing.items, relations.class_of, strict=True)
    )
