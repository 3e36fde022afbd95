"""From a strategy to an answer: the stages, in their order.

Each stage takes a packing problem, what the stage before it found, and its share of one
budget:

1. the strategy, then trimming to the limits, the cheapest replicas and the curve
   (`finish`); or, for the objective `CONSOLIDATE`, the emptying of nodes;
2. pods tied to each other by demands, budgets or limits (`related`): moved, or in a
   hurry, if they have demands, only placed;
3. ties between equal solutions, broken by what pods prefer (`preferring`).

A solution becomes a plan when it is sent (`stowage_optimizer.model.encode`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from stowage_optimizer.constraints.preferences import has_preferences
from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.model.budget import Budget
from stowage_optimizer.model.options import Objective
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.model.solution import Publish, Solution
from stowage_optimizer.stages.consolidate.strategy import Consolidate
from stowage_optimizer.stages.finish.finishing import consolidated, finished
from stowage_optimizer.stages.finish.limits import within_limits
from stowage_optimizer.stages.preferring import LOOKING, preferred
from stowage_optimizer.stages.related.exact import manageable
from stowage_optimizer.stages.related.moving import (
    REPAIRING_SHARE,
    moved,
    repairing_s,
)
from stowage_optimizer.stages.related.placing import (
    SETTLING,
    as_it_is,
    better,
    placed,
    unproved,
)
from stowage_optimizer.strategies.strategy import Strategy

MOVED_PER_S = 500
"""Pods of a snapshot in which those with demands are moved, a second of the limit.
Where there are more, or repairing a plan takes too long, they are only placed."""


class Packings:
    """The packing problems of a snapshot, each reduced when it is first asked for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.demanding = any(one.demanding for one in snapshot.classes.values())

    @cached_property
    def plain(self) -> Packing:
        """The problem without the pods that have demands on other pods."""
        return reduce_snapshot(self.snapshot)

    @cached_property
    def related(self) -> Packing:
        """The problem with them."""
        if not self.demanding:
            return self.plain
        return reduce_snapshot(self.snapshot, relations=True)

    @property
    def waiting(self) -> bool:
        """Whether a pod waits: else there is nothing to gain."""
        return not self.snapshot.pods.running.all()

    @property
    def asks_for_relations(self) -> bool:
        """Whether a pod waits, and a class has demands on other pods."""
        return self.demanding and self.waiting

    def hurried(self, budget: Budget) -> bool:
        """Return whether there is no time to move the pods with demands."""
        if not self.demanding or self.related.relations is None:
            return False
        return (
            len(self.snapshot.pods) > MOVED_PER_S * budget.limit_s
            or repairing_s(self.related) > REPAIRING_SHARE * budget.limit_s
        )


def solve(
    strategy: Strategy, packings: Packings, budget: Budget, publish: Publish
) -> Solution:
    """Return the best solution of ``strategy``, with all that the options ask for.

    Parameters
    ----------
    strategy
        The first stage; there is one only for the objective `CONSOLIDATE`.
    """
    if budget.options.objective is Objective.CONSOLIDATE:
        return consolidated(
            Consolidate(packings.related), packings.plain, budget, publish
        )
    if getattr(strategy, "is_self_contained", False):
        return strategy.solve(packings.related, budget, publish)
    pods = len(packings.snapshot.pods)
    looks = has_preferences(packings.snapshot) and LOOKING.suffices(budget, pods)
    if not looks:
        return _with_relations(strategy, packings, budget, publish)
    before = budget.without(LOOKING.of(budget.limit_s, pods))
    found = _with_relations(strategy, packings, before, publish)
    return _published(found, preferred(found, packings.related, budget), publish)


def _with_relations(
    strategy: Strategy, packings: Packings, budget: Budget, publish: Publish
) -> Solution:
    if not packings.waiting:
        return finished(strategy, packings.plain, budget, publish)
    if not budget.counted and packings.hurried(budget):
        return _in_a_hurry(strategy, packings, budget, publish)
    return _tied(strategy, packings.related, budget, publish)


def _tied(
    strategy: Strategy, packing: Packing, budget: Budget, publish: Publish
) -> Solution:
    """Solve ``packing`` with all that ties its pods to each other."""
    if packing.relations is None and not packing.allowances:
        limited = within_limits(packing, budget.options.limits)
        if not manageable(limited):
            # Limits alone: the best plan is trimmed to them.
            return finished(strategy, packing, budget, publish)
    return moved(strategy, packing, budget, publish)


def _in_a_hurry(
    strategy: Strategy, packings: Packings, budget: Budget, publish: Publish
) -> Solution:
    """Solve without the pods with demands; then place those that find room."""
    snapshot, policy, related = packings.snapshot, budget.policy, packings.related
    pods = len(snapshot.pods)
    waits = any(
        snapshot.classes[class_id].demanding
        for class_id in snapshot.pods.waiting_classes
    )

    def look(found: Solution) -> None:
        publish(unproved(found, related, policy))

    if not (waits and SETTLING.suffices(budget, pods)):
        found = _tied(strategy, packings.plain, budget, look)
        return unproved(found, related, policy)
    began = budget.clock()
    floor = as_it_is(related, budget)
    publish(floor)
    settling_s = max(SETTLING.of(budget.limit_s, pods), budget.clock() - began)
    if budget.left_s() < settling_s:
        return floor
    found = _tied(strategy, packings.plain, budget.without(settling_s), look)
    settled = better(floor, placed(found, related, budget), policy)
    publish(settled)
    return replace(settled, message=found.message)


def _published(before: Solution, after: Solution, publish: Publish) -> Solution:
    """Return ``after``, which is published if the stage changed anything."""
    if after is not before and after != before:
        publish(after)
    return after
