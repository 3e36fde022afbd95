"""Integer programs with linear rows, and what the loop over the tiers needs of them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ortools.sat.python import cp_model

from stowage_optimizer.bounds.phase import Phase
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.problem import NOWHERE
from stowage_optimizer.model.tie import Terms, Values
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.programs.solver import Offer, Outcome, run_cp_sat


class LinearProgram:
    """Integer variables from 0 to ``upper``, and rows that they must meet, as a model of CP-SAT."""

    relaxes = False
    """See `run_cp_sat`."""

    def __init__(self) -> None:
        self.model = cp_model.CpModel()
        self.upper: list[int] = []
        self._variables: list[cp_model.IntVar] = []

    def variable(self, upper: int = 1) -> int:
        """Return a new variable with values from 0 to ``upper``."""
        self._variables.append(self.model.new_int_var(0, upper, ""))
        self.upper.append(upper)
        return len(self.upper) - 1

    def at_most(self, terms: Terms, limit: int) -> None:
        """Keep the sum of ``terms`` at ``limit`` or below."""
        self.model.add(self._sum(terms) <= limit)

    def between(self, terms: Terms, lower: int, upper: int) -> None:
        """Keep the sum of ``terms`` from ``lower`` to ``upper``."""
        self.model.add_linear_constraint(self._sum(terms), lower, upper)

    def maximise(self, metric: Terms, start: Values, budget: TimeBudget, offer: Offer) -> Outcome:
        """Maximise the sum of ``metric`` from ``start`` on, which meets every row.

        Raises
        ------
        SolverContradictionError
            The solver denies that the start is possible.
        """
        began = budget.clock()
        self.model.clear_hints()  # type: ignore[no-untyped-call] # without types in OR-Tools
        for variable, value in zip(self._variables, start, strict=True):
            self.model.add_hint(variable, value)
        self.model.maximize(self._sum(metric))
        return run_cp_sat(self.model, self._variables, offer, budget, name="CP-SAT", began=began, relaxes=self.relaxes)

    def _sum(self, terms: Terms) -> cp_model.LinearExpr:
        return cp_model.LinearExpr.weighted_sum(
            [self._variables[variable] for variable, _ in terms], [coefficient for _, coefficient in terms]
        )


@dataclass(frozen=True, slots=True)
class Presence:
    """Pods of one demand that may be on a node, counted by one variable.

    ``stays`` means that they run there now.
    """

    variable: int
    demand: tuple[int, ...]
    stays: bool


def _add_capacity(program: LinearProgram, room: Sequence[int], present: Sequence[Presence]) -> None:
    """Add the rows of one node."""
    for dimension, limit in enumerate(room):
        asking = [one for one in present if one.demand[dimension]]
        load = [(one.variable, one.demand[dimension]) for one in asking]
        if _most(program, asking, dimension) <= limit:
            continue
        at_home = _most(program, [one for one in asking if one.stays], dimension)
        if at_home <= limit:
            program.at_most(load, limit)
            continue
        # Overcommitted already: its pods may stay, but none that asks for this
        # dimension may come until everything fits.
        open_ = program.variable()
        program.at_most([*load, (open_, at_home - limit)], at_home)
        for one in asking:
            if not one.stays:
                program.at_most([(one.variable, 1), (open_, -program.upper[one.variable])], 0)


def _most(program: LinearProgram, members: Sequence[Presence], dimension: int) -> int:
    return sum(one.demand[dimension] * program.upper[one.variable] for one in members)


STAY = 3
"""Weight of a running pod that stays, in the phase `DISRUPT` (Algorithm 1, line 13)."""

ARRIVAL = 1
"""Weight of a running pod that moves; one that is evicted weighs nothing."""


@dataclass(slots=True)
class Formulation(ABC):
    """The packing problem of the highest tiers as an integer program.

    Parameters
    ----------
    tiers
        How many of its tiers are in the program, from the highest.
    """

    packing: Packing
    tiers: int
    program: LinearProgram = field(init=False, default_factory=LinearProgram)

    @staticmethod
    @abstractmethod
    def variables(packing: Packing, tiers: int) -> int:
        """Return about how many variables the program will have, without making it."""

    @abstractmethod
    def metric(self, phase: Phase, tier: int) -> Terms:
        """Return what ``phase`` of ``tier`` maximises.

        `KEEP` counts the running pods of exactly this tier that have a node, `PLACE`
        adds up what all pods of this tier and above that have one count, and `DISRUPT`
        weighs the running pods of this tier and above.
        """

    @abstractmethod
    def values(self, assignment: Assignment) -> Values:
        """Return ``assignment`` as values of the variables, to start from."""

    @abstractmethod
    def read(self, values: Values, otherwise: Assignment) -> Assignment:
        """Return the assignment that ``values`` stand for.

        Pods below the tiers of the program keep their node of ``otherwise``.
        """

    def add_capacities(self, present: Iterable[tuple[int, Presence]]) -> None:
        """Add the rows of each node, given the nodes and what may be on them."""
        on_node: list[list[Presence]] = [[] for _ in self.packing.room]
        for node, one in present:
            on_node[node].append(one)
        for room, members in zip(self.packing.room, on_node, strict=True):
            _add_capacity(self.program, room, members)


def running_items(packing: Packing, tier: int) -> int:
    """Return how many items of ``tier`` and the tiers above run now."""
    problem = packing.problem
    in_play = problem.tier[problem.kind] <= tier
    return int((in_play & (problem.home != NOWHERE)).sum())
