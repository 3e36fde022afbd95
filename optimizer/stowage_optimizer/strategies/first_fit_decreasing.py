"""`first-fit-decreasing`: pending pods, large ones first, to the first node with room.

No pod is moved or displaced.
"""

from dataclasses import dataclass

from stowage_optimizer.assignments.first_fit import filled
from stowage_optimizer.assignments.incumbent import Incumbent
from stowage_optimizer.bounds.proofs import trivial_bounds
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.solution import Publish, Solution
from stowage_optimizer.model.time_budget import TimeBudget


@dataclass(frozen=True, slots=True)
class FirstFitDecreasing:
    """The textbook's heuristic, tier by tier."""

    def solve(self, packing: Packing, budget: TimeBudget, publish: Publish) -> Solution:
        """Return the solution; see `Strategy.solve`. It needs no limit."""
        bounds = trivial_bounds(packing)
        incumbent = Incumbent(packing, bounds, budget.policy, publish)
        publish(incumbent.solution())
        incumbent.offer(filled(packing, packing.current))
        return incumbent.solution()
