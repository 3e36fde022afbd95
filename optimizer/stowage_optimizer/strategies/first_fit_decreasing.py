"""`first-fit-decreasing`: pending pods, large ones first, to the first node with room.

No pod is moved or displaced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stowage_optimizer.model.options import Clock, SolveOptions
from stowage_optimizer.model.plan import Plan
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.strategies.bounds import trivial_bounds
from stowage_optimizer.strategies.filling import filled
from stowage_optimizer.strategies.incumbent import Incumbent
from stowage_optimizer.strategies.planning import PlanWriter
from stowage_optimizer.strategies.reduced import reduced
from stowage_optimizer.strategies.strategy import Answer, end_reason_of


@dataclass(frozen=True, slots=True)
class FirstFitDecreasing:
    """The textbook's heuristic, tier by tier."""

    def solve(
        self,
        snapshot: Snapshot,
        options: SolveOptions,
        *,
        clock: Clock,
        publish: Callable[[Plan], None],
    ) -> Answer:
        """Return the plan; see `Strategy.solve`. It needs no limit."""
        packing = reduced(snapshot)
        writer = PlanWriter(snapshot, packing, options.policy)
        incumbent = Incumbent(packing, trivial_bounds(packing), writer, publish)
        publish(incumbent.plan())
        incumbent.offer(filled(packing, packing.current))
        plan = incumbent.plan()
        return Answer(plan, end_reason_of(plan), packing.refusals)
