"""Fewest or cheapest nodes in use, then fewest moves, as integer programs."""

from dataclasses import dataclass, field

from stowage_optimizer.bounds.phase import Phase
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.tie import Terms, Values
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.programs.program import STAY
from stowage_optimizer.programs.tied import TiedFormulation
from stowage_optimizer.stages.consolidate.node_costs import Costs, nodes_in_use

MOVED = 2
"""What the sum of `Phase.DISRUPT` loses by a move."""

EXACT = 2**53
"""CP-SAT's limits are floating-point numbers; from here on not every integer is one."""


@dataclass(slots=True)
class LeastCost:
    """The program of a packing whose pods all run.

    Parameters
    ----------
    packing
        Its ties are in the program.
    """

    packing: Packing
    others: frozenset[int]
    costs: Costs
    assignment: Assignment
    _formulation: TiedFormulation = field(init=False)
    _stability: Terms = field(init=False)
    _used: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        tiers, every = len(self.packing.tiers), self.packing.worth
        self._formulation = TiedFormulation(self.packing, tiers)
        program = self._formulation.program
        program.between(self._formulation.metric(Phase.PLACE, tiers - 1), every, every)
        self._stability = self._formulation.metric(Phase.DISRUPT, tiers - 1)
        self._used = {
            node: variable for node, variable in self._formulation.used_nodes().items() if node not in self.others
        }

    def least_cost(self, budget: TimeBudget, proved: int) -> int:
        """Empty the nodes that cost most; return a bound on the cost of those in use.

        Where these cost no more than ``proved`` there is nothing to look for.
        """
        costs, always = self.costs.of, self.costs.total(self.others)
        metric = [(used, -costs[node]) for node, used in self._used.items()]
        bound = None
        if self._cost() > proved:
            bound = self._maximise(metric, budget)
        self._formulation.program.between(metric, always - self._cost(), 0)
        exact = sum(costs) < EXACT
        return always - (bound if bound is not None and exact else 0)

    def fewest_moves(self, budget: TimeBudget) -> int:
        """Move as few as possible for that cost; return a bound on the moves."""
        bound = self._maximise(self._stability, budget)
        if bound is None:
            return 0
        # Rounded up: what the sum loses is a whole number of moves.
        return -(-(STAY * len(self.packing.current) - bound) // MOVED)

    def _cost(self) -> int:
        return self.costs.total(nodes_in_use(self.assignment, self.others))

    def _maximise(self, metric: Terms, budget: TimeBudget) -> int | None:
        start = list(self._formulation.values(self.assignment))
        taken = set(self.assignment)
        for node, variable in self._used.items():
            start[variable] = int(node in taken)

        def take(values: Values) -> None:
            self.assignment = self._formulation.read(values, self.assignment)

        return self._formulation.program.maximise(metric, start, budget, offer=take).bound
