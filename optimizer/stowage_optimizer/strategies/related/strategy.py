"""Any strategy, extended to pods with relations to other pods.

Strategies place by room. Affinity, spread, and anti-affinity that is no capacity are
handled here. Where a snapshot is too large for the time there is, such pods are only
placed, if at all, and do not move.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.model.options import Clock, Objective, SolveOptions
from stowage_optimizer.model.plan import Plan
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.strategies.related.moving import Moving
from stowage_optimizer.strategies.related.placing import Placing
from stowage_optimizer.strategies.strategy import Answer, Strategy

MOVED_PER_S = 500
"""Pods of a snapshot in which those with demands are moved, a second of the limit."""


@dataclass(frozen=True, slots=True)
class Related:
    """A strategy whose plans also place and move pods with demands on other pods.

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
        """Return the best plan that keeps every demand; see `Strategy.solve`."""
        consolidates = options.objective is Objective.CONSOLIDATE
        if consolidates or not demanded(snapshot):
            return self.inner.solve(snapshot, options, clock=clock, publish=publish)
        deadline = clock() + options.time_limit_s
        hurry = len(snapshot.pods) > MOVED_PER_S * options.time_limit_s
        if hurry and not options.deterministic:
            placing = Placing(self.inner)
            return placing.solve(snapshot, options, clock=clock, publish=publish)
        packing = reduce_snapshot(snapshot, relations=True)
        if packing.relations is None:
            return self.inner.solve(snapshot, options, clock=clock, publish=publish)
        moving = Moving(
            self.inner, snapshot, packing, options, clock, deadline, publish
        )
        return moving.solve()


def demanded(snapshot: Snapshot) -> bool:
    """Return whether a pod waits, and a class has demands on other pods."""
    demanding = any(one.demanding for one in snapshot.classes.values())
    return demanding and any(pod.node is None for pod in snapshot.pods)
