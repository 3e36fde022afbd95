"""A strategy made of a formulation and a solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stowage_optimizer.model.options import Clock, SolveOptions
from stowage_optimizer.model.plan import Plan
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.strategies.bounds import trivial_bounds
from stowage_optimizer.strategies.incumbent import Incumbent
from stowage_optimizer.strategies.linear.backend import Backend
from stowage_optimizer.strategies.linear.formulation import Formulate
from stowage_optimizer.strategies.linear.tiers import TierLoop
from stowage_optimizer.strategies.planning import PlanWriter
from stowage_optimizer.strategies.reduced import reduced
from stowage_optimizer.strategies.strategy import Answer, end_reason_of


@dataclass(frozen=True, slots=True)
class LinearStrategy:
    """Algorithm 1 with this formulation and this solver."""

    formulate: Formulate
    backend: Callable[[Clock], Backend]

    def solve(
        self,
        snapshot: Snapshot,
        options: SolveOptions,
        *,
        clock: Clock,
        publish: Callable[[Plan], None],
    ) -> Answer:
        """Return the best plan found in time; see `Strategy.solve`."""
        deadline = clock() + options.time_limit_s
        packing = reduced(snapshot)
        bounds = trivial_bounds(packing)
        writer = PlanWriter(snapshot, packing, options.policy)
        incumbent = Incumbent(packing, bounds, writer, publish)
        publish(incumbent.plan())
        backend = self.backend(clock)
        loop = TierLoop(
            packing,
            options,
            clock,
            deadline,
            incumbent,
            bounds,
            self.formulate,
            backend,
        )
        loop.run()
        plan = incumbent.plan()
        message = ""
        if loop.complete and not plan.optimal:
            message = (
                f"{backend.name} takes this for optimal, but {backend.flaw}: that is "
                "no proof"
            )
        return Answer(plan, end_reason_of(plan), packing.refusals, message)
