"""Algorithm 1 on integer programs: any formulation, any solver."""

from collections.abc import Iterator
from dataclasses import dataclass

from stowage_optimizer.assignments.incumbent import Incumbent
from stowage_optimizer.bounds.proofs import TRIVIAL, trivial_bounds
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.solution import Publish, Solution
from stowage_optimizer.model.tie import Terms
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.programs.counts import CountFormulation
from stowage_optimizer.programs.program import Formulation, LinearProgram
from stowage_optimizer.programs.tiers import Maximise, TierLoop

MINUS_INFINITY = -(2**63)
"""A lower limit of CP-SAT that is none."""


@dataclass(frozen=True, slots=True)
class LinearStrategy:
    """Algorithm 1 with this formulation and this solver."""

    formulate: type[Formulation]
    maximise: Maximise = LinearProgram.maximise
    flaw: str = ""
    """Why its bounds are no proofs, as the end of a sentence; empty if they are."""

    def solve(self, packing: Packing, budget: TimeBudget, publish: Publish) -> Solution:
        """Return the best solution found in time; see `Strategy.solve`."""
        bounds = trivial_bounds(packing)
        incumbent = Incumbent(packing, bounds, budget.policy, publish)
        publish(incumbent.solution())
        loop = TierLoop(packing, budget, incumbent, bounds, self.flaw, TRIVIAL, self.formulate, self.maximise)
        loop.run()
        solution = incumbent.solution()
        if solution.optimal or not loop.complete:
            return solution
        return incumbent.solution(f"the solver takes this for optimal, but {self.flaw}: that is no proof")


def cpsat_aggregated() -> LinearStrategy:
    """Return `cpsat-aggregated`: CP-SAT, replicas counted together."""
    return LinearStrategy(CountFormulation)


def rows_of(program: LinearProgram) -> Iterator[tuple[Terms, int | None, int]]:
    """Yield each row of ``program``: its sum, lower and upper limit; a lower limit of None is none."""
    for constraint in program.model.proto.constraints:
        row = constraint.linear
        lower, upper = row.domain
        yield list(zip(row.vars, row.coeffs, strict=True)), None if lower == MINUS_INFINITY else lower, upper
