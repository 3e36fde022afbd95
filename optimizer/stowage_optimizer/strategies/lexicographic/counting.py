"""CP-SAT over counts of replicas: the last resort, which settles what is small."""

from __future__ import annotations

from dataclasses import dataclass

from stowage_optimizer.bounds.question import Phase
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.search.mending import Mender
from stowage_optimizer.strategies.bounds import TierBounds
from stowage_optimizer.strategies.budget import Budget
from stowage_optimizer.strategies.lexicographic.shared_state import (
    SharedState,
    as_assignment,
    as_nodes,
)
from stowage_optimizer.strategies.linear.counts import CountFormulation
from stowage_optimizer.strategies.linear.program import STAY, Values
from stowage_optimizer.strategies.linear.solver import CpSat, Task

SHORTEST_S = 0.02
"""Less than this is no time to build and solve anything in."""

BUILT_PER_S = 50_000
"""Variables written down in a second, at the least."""

MOST_VARIABLES = 500_000
"""Larger programs are not begun: memory is limited too."""

BUILDING_SHARE = 0.5
"""Largest share of the time that may go into writing the program down."""


@dataclass(frozen=True, slots=True)
class Counting:
    """Solves one phase of one tier, given what all before it reached."""

    shared: SharedState
    packing: Packing
    budget: Budget
    mender: Mender

    def worth_trying(self, tier: int, seconds: float) -> bool:
        """Return whether the program can be written down in time, and held."""
        size = len(self.packing.room) * len(self.shared.problem.demand)
        if seconds < SHORTEST_S or size > MOST_VARIABLES:
            return False
        size = CountFormulation.variables(self.packing, tier + 1)
        return size / BUILT_PER_S <= BUILDING_SHARE * seconds

    def solve(
        self, tier: int, phase: Phase, seconds: float
    ) -> tuple[int | None, float]:
        """Return the proved limit, None for none, and the seconds that it took.

        Parameters
        ----------
        tier, phase
            What to maximise, or for `Phase.DISRUPT` to minimise.
        """
        started = self.budget.clock()
        counts = CountFormulation(self.packing, tier + 1)
        value, nodes = self.shared.snapshot()
        self._hold(counts, value, tier, phase)
        assignment = as_assignment(nodes)

        def offer(values: Values) -> None:
            found = as_nodes(counts.read(values, assignment))
            self.shared.offer(found, self.mender)

        if not self.budget.counted:
            seconds -= self.budget.clock() - started
        task = Task(
            counts.program,
            counts.metric(phase, tier),
            start=counts.values(assignment),
            budget=self.budget.for_solver(seconds),
            offer=offer,
        )
        outcome = CpSat().maximise(task)
        limit = outcome.bound
        if limit is not None and phase is Phase.DISRUPT:
            limit = STAY * self._running(tier) - limit
        return limit, outcome.spent

    def _hold(
        self,
        counts: CountFormulation,
        value: tuple[tuple[int, int, int], ...],
        tier: int,
        phase: Phase,
    ) -> None:
        """Add a row for each phase: from what is reached to what is proved."""
        for above in range(tier + 1):
            bounds = self.shared.bounds[above]
            most = 3 * self._running(above)
            for row, reached, limit in _rows(value[above], bounds, most):
                if row is Phase.KEEP and not self.shared.strict:
                    continue
                if above == tier and row.value > phase.value:
                    continue
                counts.program.between(
                    counts.metric(row, above), reached, max(reached, limit)
                )

    def _running(self, tier: int) -> int:
        lowest = self.packing.tiers[tier]
        return sum(
            item.home is not None and item.priority >= lowest
            for item in self.packing.items
        )


def _rows(
    value: tuple[int, int, int], bounds: TierBounds, most: int
) -> tuple[tuple[Phase, int, int], ...]:
    kept, placed, stability = value
    return (
        (Phase.KEEP, kept, bounds.kept),
        (Phase.PLACE, placed, bounds.placed),
        (Phase.DISRUPT, most + stability, most - bounds.disruption),
    )
