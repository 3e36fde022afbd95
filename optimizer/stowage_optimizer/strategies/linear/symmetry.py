"""The thesis's rows that are to break symmetry, as they are printed.

"Scheduling Optimization in Kubernetes" (Canova), section 4.1.1, optional constraints:
of two equal pods the later one is on every node behind that of the first, and of two
equal nodes the later one has at least as much memory in use. Both order by index alone.
So they cut off answers: that in which pods that run stay where they are, most of all.
Nothing that is found with them is known to be the best.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.strategies.linear.formulation import Phase
from stowage_optimizer.strategies.linear.items import ItemFormulation
from stowage_optimizer.strategies.linear.program import LinearProgram, Terms, Values

MEMORY = 1
"""Dimension of a packing; see `stowage_optimizer.constraints.resources.dimensions`."""


@dataclass(slots=True)
class SymmetryFormulation:
    """An `ItemFormulation` with the printed rows.

    Parameters
    ----------
    packing
        The problem.
    tiers
        How many of its tiers are in the program, from the highest.
    """

    packing: Packing
    tiers: int
    program: LinearProgram = field(init=False)
    _items: ItemFormulation = field(init=False)

    def __post_init__(self) -> None:
        self._items = ItemFormulation(self.packing, self.tiers)
        self.program = self._items.program
        self._order_pods()
        self._order_nodes()

    @staticmethod
    def variables(packing: Packing, tiers: int) -> int:
        """Return how many variables the program will have."""
        return ItemFormulation.variables(packing, tiers)

    def metric(self, phase: Phase, tier: int) -> Terms:
        """Return what ``phase`` of ``tier`` maximises; see `Formulation.metric`."""
        return self._items.metric(phase, tier)

    def values(self, assignment: Assignment) -> Values:
        """Return ``assignment`` as values, which need not meet the printed rows."""
        return self._items.values(assignment)

    def read(self, values: Values, otherwise: Assignment) -> Assignment:
        """Return the assignment that ``values`` stand for."""
        return self._items.read(values, otherwise)

    def _order_pods(self) -> None:
        equal: dict[object, list[int]] = {}
        for index in self._items.x:
            item = self.packing.items[index]
            # The same nodes are open to pods of the same affinity and anti-affinity.
            key = (item.demand, item.priority, item.eligible)
            equal.setdefault(key, []).append(index)
        for members in equal.values():
            for first, second in combinations(members, 2):
                of_first, of_second = self._items.x[first], self._items.x[second]
                for before, behind in combinations(sorted(of_first), 2):
                    if behind in of_second:
                        self.program.at_most(
                            [(of_first[before], 1), (of_second[behind], -1)], 0
                        )

    def _order_nodes(self) -> None:
        loads: dict[int, list[tuple[int, int]]] = {}
        for index, row in self._items.x.items():
            memory = self.packing.items[index].demand[MEMORY]
            for node, x in row.items():
                loads.setdefault(node, []).append((x, memory))
        for one, other in combinations(sorted(loads), 2):
            if self.packing.room[one] == self.packing.room[other]:
                less = [(x, -memory) for x, memory in loads[other]]
                self.program.at_most([*loads[one], *less], 0)
