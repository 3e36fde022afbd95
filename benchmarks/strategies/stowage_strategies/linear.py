"""Algorithm 1 on integer programs: any formulation, any solver."""

from dataclasses import dataclass

from stowage_optimizer.assignments.incumbent import Incumbent
from stowage_optimizer.bounds.proofs import TRIVIAL, trivial_bounds
from stowage_optimizer.model.budget import Budget
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.solution import Publish, Solution
from stowage_optimizer.programs.counts import CountFormulation
from stowage_optimizer.programs.program import Formulation
from stowage_optimizer.programs.solver import Backend, CpSat
from stowage_optimizer.programs.tiers import LinearLoop


@dataclass(frozen=True, slots=True)
class LinearStrategy:
    """Algorithm 1 with this formulation and this solver."""

    formulate: type[Formulation]
    backend: Backend
    flaw: str = ""
    """What is wrong with the formulation, as the end of a sentence."""

    def solve(self, packing: Packing, budget: Budget, publish: Publish) -> Solution:
        """Return the best solution found in time; see `Strategy.solve`."""
        bounds = trivial_bounds(packing)
        incumbent = Incumbent(packing, bounds, budget.policy, publish)
        publish(incumbent.solution())
        backend, flaw = self.backend, self.flaw or self.backend.flaw
        loop = LinearLoop(packing, budget, incumbent, bounds, flaw, TRIVIAL, self.formulate, backend)
        loop.run()
        solution = incumbent.solution()
        if solution.optimal or not loop.complete:
            return solution
        return incumbent.solution(f"{backend.name} takes this for optimal, but {flaw}: that is no proof")


def cpsat_aggregated() -> LinearStrategy:
    """Return `cpsat-aggregated`: CP-SAT, replicas counted together."""
    return LinearStrategy(CountFormulation, CpSat())
