"""From a strategy to an answer: the stages, in their order.

Each stage takes a packing problem, what the stage before it found, and its share of one
budget:

1. the strategy, then trimming to the limits, the cheapest replicas and the curve
   (`finish`); or, for the objective `CONSOLIDATE`, the emptying of nodes;
2. pods with demands on other pods: moved, or in a hurry only placed (`related`);
3. ties between equal solutions, broken by what pods prefer (`preferring`).

A solution becomes a plan when it is sent (`stowage_optimizer.model.encode`).
"""

from __future__ import annotations

from functools import cached_property

from stowage_optimizer.constraints.preferences import has_preferences
from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.model.options import Objective
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.model.solution import Solution
from stowage_optimizer.strategies.budget import Budget
from stowage_optimizer.strategies.consolidate.strategy import Consolidate
from stowage_optimizer.strategies.finish.finishing import consolidated, finished
from stowage_optimizer.strategies.preferring import LOOKING, preferred
from stowage_optimizer.strategies.related.moving import moved
from stowage_optimizer.strategies.related.placing import SETTLING, placed
from stowage_optimizer.strategies.strategy import Publish, Strategy

MOVED_PER_S = 500
"""Pods of a snapshot in which those with demands are moved, a second of the limit.
Where there are more, they are only placed, if at all."""


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
    def asks_for_relations(self) -> bool:
        """Whether a pod waits, and a class has demands on other pods."""
        return self.demanding and any(pod.node is None for pod in self.snapshot.pods)


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
        return consolidated(Consolidate(), packings.plain, budget, publish)
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
    if not packings.asks_for_relations:
        return finished(strategy, packings.plain, budget, publish)
    snapshot = packings.snapshot
    pods = len(snapshot.pods)
    if budget.counted or pods <= MOVED_PER_S * budget.limit_s:
        if packings.related.relations is None:
            return finished(strategy, packings.plain, budget, publish)
        return moved(strategy, packings.related, budget, publish)
    waits = any(
        pod.node is None and snapshot.class_of(pod).demanding for pod in snapshot.pods
    )
    if not (waits and SETTLING.suffices(budget, pods)):
        return finished(strategy, packings.plain, budget, publish)
    before = budget.without(SETTLING.of(budget.limit_s, pods))
    found = finished(strategy, packings.plain, before, publish)
    return _published(found, placed(found, packings.related, budget), publish)


def _published(before: Solution, after: Solution, publish: Publish) -> Solution:
    """Return ``after``, which is published if the stage changed anything."""
    if after is not before and after != before:
        publish(after)
    return after
