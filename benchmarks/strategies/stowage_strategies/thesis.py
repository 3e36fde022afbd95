"""`cpsat-items`, `cpsat-items-symmetry`: the thesis's programs on OR-Tools.

"Scheduling Optimization in Kubernetes" (Canova), chapter 4: integer variables for each
pod and node, with and without its rows for equal pods and equal nodes.

Of two equal pods the later one is on every node behind that of the first, and of two
equal nodes the later one has at least as much memory in use (section 4.1.1, optional
constraints, as they are printed). Both order by index alone. So they cut off answers:
that in which pods that run stay where they are, most of all. Nothing that is found with
them is known to be the best.
"""

from dataclasses import dataclass, field
from itertools import combinations

from stowage_optimizer.bounds.phase import Phase
from stowage_optimizer.model.packing import Assignment, ItemKind, Packing
from stowage_optimizer.model.tie import Terms, Values
from stowage_optimizer.programs.program import ARRIVAL, STAY, Formulation, Presence
from stowage_strategies.linear import LinearStrategy

FLAW = "the thesis's rows for equal pods and nodes cut off answers"

MEMORY = 1
"""Dimension of a packing; see `stowage_optimizer.constraints.resources.dimensions`."""


@dataclass(slots=True)
class ItemFormulation(Formulation):
    """One variable for each pod and node."""

    x: dict[int, dict[int, int]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        members = _members(self.packing, self.tiers)
        for index, kind in members:
            self.x[index] = {node: self.program.variable() for node in kind.eligible}
            # Equation (3): on at most one node.
            self.program.at_most([(x, 1) for x in self.x[index].values()], 1)
        self.add_capacities(
            (node, Presence(x, kind.demand, node == self.packing.current[index]))
            for index, kind in members
            for node, x in self.x[index].items()
        )

    @staticmethod
    def variables(packing: Packing, tiers: int) -> int:
        """Return how many variables the program will have."""
        return sum(len(kind.eligible) for _, kind in _members(packing, tiers))

    def metric(self, phase: Phase, tier: int) -> Terms:
        """Return what ``phase`` of ``tier`` maximises."""
        lowest = self.packing.tiers[tier]
        terms = []
        for index, row in self.x.items():
            kind, home = self.packing.kind_of[index], self.packing.current[index]
            if kind.priority < lowest:
                continue
            if phase is Phase.PLACE:
                terms += [(x, kind.worth) for x in row.values()]
            elif home is not None and phase is Phase.DISRUPT:
                terms += [(x, STAY if node == home else ARRIVAL) for node, x in row.items()]
            elif home is not None and kind.priority == lowest:
                terms += [(x, 1) for x in row.values()]
        return terms

    def values(self, assignment: Assignment) -> Values:
        """Return ``assignment`` as values of the variables."""
        values = [0] * len(self.program.upper)
        for index, row in self.x.items():
            node = assignment[index]
            if node is not None:
                values[row[node]] = 1
        return values

    def read(self, values: Values, otherwise: Assignment) -> Assignment:
        """Return the assignment that ``values`` stand for."""
        assignment = list(otherwise)
        for index, row in self.x.items():
            nodes = (node for node, x in row.items() if values[x])
            assignment[index] = next(nodes, None)
        return tuple(assignment)


def _members(packing: Packing, tiers: int) -> list[tuple[int, ItemKind]]:
    lowest = packing.tiers[tiers - 1]
    return [(index, kind) for index, kind in enumerate(packing.kind_of) if kind.priority >= lowest]


@dataclass(slots=True)
class SymmetryFormulation(ItemFormulation):
    """An `ItemFormulation` with the printed rows, which `values` need not meet."""

    def __post_init__(self) -> None:
        ItemFormulation.__post_init__(self)
        self._order_pods()
        self._order_nodes()

    def _order_pods(self) -> None:
        equal: dict[object, list[int]] = {}
        for index in self.x:
            # The same nodes are open to pods of the same affinity and anti-affinity.
            equal.setdefault(self.packing.kind_of[index], []).append(index)
        for members in equal.values():
            for first, second in combinations(members, 2):
                of_first, of_second = self.x[first], self.x[second]
                for before, behind in combinations(sorted(of_first), 2):
                    if behind in of_second:
                        self.program.at_most([(of_first[before], 1), (of_second[behind], -1)], 0)

    def _order_nodes(self) -> None:
        loads: dict[int, list[tuple[int, int]]] = {}
        for index, row in self.x.items():
            memory = self.packing.kind_of[index].demand[MEMORY]
            for node, x in row.items():
                loads.setdefault(node, []).append((x, memory))
        for one, other in combinations(sorted(loads), 2):
            if self.packing.room[one] == self.packing.room[other]:
                less = [(x, -memory) for x, memory in loads[other]]
                self.program.at_most([*loads[one], *less], 0)


def cpsat_items() -> LinearStrategy:
    """Return the strategy without the rows."""
    return LinearStrategy(ItemFormulation)


def cpsat_items_symmetry() -> LinearStrategy:
    """Return the strategy with the rows."""
    return LinearStrategy(SymmetryFormulation, flaw=FLAW)
