"""x[i, j] says that item i is on node j (Algorithm 1, line 3)."""

from __future__ import annotations

from dataclasses import dataclass, field

from stowage_optimizer.model.packing import Assignment, Item, Packing
from stowage_optimizer.strategies.linear.capacity import Presence, add_capacity
from stowage_optimizer.strategies.linear.formulation import ARRIVAL, STAY, Phase
from stowage_optimizer.strategies.linear.program import LinearProgram, Terms, Values


@dataclass(slots=True)
class ItemFormulation:
    """One variable for each pod and node.

    Parameters
    ----------
    packing
        The problem.
    tiers
        How many of its tiers are in the program, from the highest.
    x
        The variables, by item and node.
    """

    packing: Packing
    tiers: int
    program: LinearProgram = field(default_factory=LinearProgram)
    x: dict[int, dict[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        present: list[list[Presence]] = [[] for _ in self.packing.room]
        for index, item in _members(self.packing, self.tiers):
            row = {node: self.program.variable() for node in item.eligible}
            self.x[index] = row
            # Equation (3): on at most one node.
            self.program.at_most([(x, 1) for x in row.values()], 1)
            for node, x in row.items():
                present[node].append(Presence(x, item.demand, node == item.home))
        for room, members in zip(self.packing.room, present, strict=True):
            add_capacity(self.program, room, members)

    @staticmethod
    def variables(packing: Packing, tiers: int) -> int:
        """Return how many variables the program will have."""
        return sum(len(item.eligible) for _, item in _members(packing, tiers))

    def metric(self, phase: Phase, tier: int) -> Terms:
        """Return what ``phase`` of ``tier`` maximises; see `Formulation.metric`."""
        lowest = self.packing.tiers[tier]
        terms = []
        for index, row in self.x.items():
            item = self.packing.items[index]
            if item.priority < lowest:
                continue
            if phase is Phase.PLACE:
                terms += [(x, 1) for x in row.values()]
            elif item.home is not None and phase is Phase.DISRUPT:
                terms += [
                    (x, STAY if node == item.home else ARRIVAL)
                    for node, x in row.items()
                ]
            elif item.home is not None and item.priority == lowest:
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


def _members(packing: Packing, tiers: int) -> list[tuple[int, Item]]:
    lowest = packing.tiers[tiers - 1]
    return [
        (index, item)
        for index, item in enumerate(packing.items)
        if item.priority >= lowest
    ]
