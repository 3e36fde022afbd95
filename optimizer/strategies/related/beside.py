"""Pods with demands on other pods, placed beside a plan for everybody else.

Strategies leave pods with affinity, spread, or anti-affinity that is no capacity alone.
Once a plan is there, such pods that wait are put wherever they are welcome and fit;
nobody moves for them. This takes little time, also where there are many pods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from optimizer.constraints.reduction import reduce_snapshot
from optimizer.model.options import Objective, SolveOptions
from optimizer.model.packing import Assignment, Packing
from optimizer.model.plan import Plan, TierResult
from optimizer.model.snapshot import Snapshot
from optimizer.strategies.bounds import trivial_bounds
from optimizer.strategies.planning import PlanWriter
from optimizer.strategies.reading import assignment_of
from optimizer.strategies.settling import settle
from optimizer.strategies.strategy import Answer, Clock, Strategy, end_reason_of

SHARE = 0.1
"""Part of the time limit that is kept back for pods with such demands, at the least."""

SETTLED_PER_S = 15_000
"""Pods of a snapshot that are gone through in a second, at the least: 40,000 pods on
5,000 nodes took 2.2 s beside other work on 2 cores."""

LARGEST_SHARE = 0.5
"""Where going through the pods takes more of the limit, they are left waiting."""


@dataclass(frozen=True, slots=True)
class Beside:
    """A strategy whose last plan also places pods with demands on other pods.

    Parameters
    ----------
    inner
        Finds the plans for everybody else.
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
        kept_back_s = _kept_back_s(snapshot, options)
        if kept_back_s is None:
            return self.inner.solve(snapshot, options, clock=clock, publish=publish)
        deadline = clock() + options.time_limit_s
        asked = options
        if not options.deterministic:
            asked = replace(options, time_limit_s=options.time_limit_s - kept_back_s)
        answer = self.inner.solve(snapshot, asked, clock=clock, publish=publish)
        packing = reduce_snapshot(snapshot, relations=True)

        def stop() -> bool:
            return not options.deterministic and clock() > deadline

        wanted = assignment_of(packing, answer.plan)
        settled = settle(packing, wanted, stop)
        if settled is None or not _only_adds(wanted, settled):
            return answer
        writer = PlanWriter(snapshot, packing, options.policy)
        plan = _extended(writer, answer.plan, settled)
        publish(plan)
        return replace(answer, plan=plan, end_reason=end_reason_of(plan))


def _kept_back_s(snapshot: Snapshot, options: SolveOptions) -> float | None:
    """Return the seconds that pods with demands will take, None if nothing is done."""
    if options.objective is Objective.CONSOLIDATE or not _waiting(snapshot):
        return None
    needed_s = len(snapshot.pods) / SETTLED_PER_S
    hurry = needed_s > LARGEST_SHARE * options.time_limit_s
    if hurry and not options.deterministic:
        return None
    return max(SHARE * options.time_limit_s, needed_s)


def _waiting(snapshot: Snapshot) -> bool:
    """Tell whether a pod waits whose class has demands on other pods."""
    demanding = {
        class_id
        for class_id, one in snapshot.classes.items()
        if one.required_pod_affinity
        or one.required_pod_anti_affinity
        or any(spread.hard for spread in one.topology_spread)
    }
    return any(pod.node is None and pod.class_id in demanding for pod in snapshot.pods)


def _only_adds(wanted: Assignment, settled: Assignment) -> bool:
    """Tell whether ``settled`` places more pods and leaves all others as wanted."""
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
        # Everybody the inner plan was proved for, and everybody it left out.
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
