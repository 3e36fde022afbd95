"""Fewest nodes in use, then fewest moves, as integer programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from stowage_optimizer.bounds.question import Phase
from stowage_optimizer.model.options import Limits
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.strategies.budget import Budget
from stowage_optimizer.strategies.linear.counts import CountFormulation
from stowage_optimizer.strategies.linear.program import STAY, Terms, Values
from stowage_optimizer.strategies.linear.solver import CpSat, Task

MOST_PARTS = 10_000
"""A gain per move is rounded to parts of so many at most."""

MOVED = 2
"""What the sum of `Phase.DISRUPT` loses by a move."""


@dataclass(slots=True)
class FewestNodes:
    """The program of a packing whose pods all run.

    Parameters
    ----------
    kept
        Nodes that must not be emptied, by index; they are among ``others``.
    """

    packing: Packing
    others: frozenset[int]
    kept: frozenset[int]
    solver: CpSat
    limits: Limits
    assignment: Assignment
    _formulation: CountFormulation = field(init=False)
    _stability: Terms = field(init=False)
    _used: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        tiers, count = len(self.packing.tiers), len(self.packing.items)
        self._formulation = CountFormulation(self.packing, tiers)
        program = self._formulation.program
        program.between(self._formulation.metric(Phase.PLACE, tiers - 1), count, count)
        self._stability = self._formulation.metric(Phase.DISRUPT, tiers - 1)
        most_stable = STAY * count
        if self.limits.max_moves is not None:
            least_stable = most_stable - MOVED * self.limits.max_moves
            program.between(self._stability, least_stable, most_stable)
        self._used = {
            node: variable
            for node, variable in self._formulation.used_nodes().items()
            if node not in self.others
        }
        self._keep()
        self._let_moves_be_worth(self.limits.min_gain_per_move, most_stable)

    def _keep(self) -> None:
        """Leave a pod on each node that must not be emptied."""
        for node in sorted(self.kept):
            present = [
                (variables[node], -1)
                for kind in self._formulation.kinds
                for variables in (kind.stay, kind.come)
                if node in variables
            ]
            self._formulation.program.at_most(present, -1)

    def _let_moves_be_worth(self, gain: float, most_stable: int) -> None:
        """Have ``gain`` nodes emptied for each move, or more."""
        if not gain:
            return
        worth = Fraction(gain).limit_denominator(MOST_PARTS)
        node, move = MOVED * worth.denominator, worth.numerator
        in_use = len(self._used.keys() & set(self.packing.current))
        terms = [(variable, node) for variable in self._used.values()]
        terms += [(variable, -move * loss) for variable, loss in self._stability]
        limit = node * in_use - move * most_stable
        self._formulation.program.at_most(terms, limit)

    def fewest(self, budget: Budget) -> int:
        """Empty as many nodes as possible; return a limit on the nodes in use."""
        metric = [(variable, -1) for variable in self._used.values()]
        bound = self._maximise(metric, budget)
        reached = -len(self._used.keys() & set(self.assignment))
        self._formulation.program.between(metric, reached, 0)
        return len(self.others) - (0 if bound is None else bound)

    def fewest_moves(self, budget: Budget) -> int:
        """Move as few as possible for as many nodes; return a limit on the moves."""
        bound = self._maximise(self._stability, budget)
        if bound is None:
            return 0
        # Rounded up: what the sum loses is a whole number of moves.
        return -(-(STAY * len(self.packing.items) - bound) // MOVED)

    def _maximise(self, metric: Terms, budget: Budget) -> int | None:
        start = list(self._formulation.values(self.assignment))
        taken = set(self.assignment)
        for node, variable in self._used.items():
            start[variable] = int(node in taken)

        def take(values: Values) -> None:
            self.assignment = self._formulation.read(values, self.assignment)

        task = Task(self._formulation.program, metric, start, budget, offer=take)
        return self.solver.maximise(task).bound
