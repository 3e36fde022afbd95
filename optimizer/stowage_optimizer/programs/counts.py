"""Replicas counted together: how many of a kind stay on a node, and how many come.

A node's variables are as many as its kinds, not as its pods. No pod that left a node
comes back to it: such a pair of a newcomer and a leaver is read as a pod that stays,
which is better and needs no more room.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf

from stowage_optimizer.bounds.phase import Phase
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.problem import NOWHERE
from stowage_optimizer.model.tie import Terms, Values
from stowage_optimizer.programs.program import ARRIVAL, STAY, Formulation, Presence


@dataclass(frozen=True, slots=True)
class Replicas:
    """Items that differ in their homes only."""

    priority: int
    demand: tuple[int, ...]
    eligible: tuple[int, ...]
    worth: int
    pending: tuple[int, ...]
    at_home: Mapping[int, tuple[int, ...]]

    @property
    def running(self) -> int:
        """How many have a node."""
        return sum(len(members) for members in self.at_home.values())

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.pending) + self.running


def replicas_of(packing: Packing, tiers: int) -> dict[int, Replicas]:
    """Return the items of the first ``tiers`` tiers by the number of their kind."""
    lowest = packing.tiers[tiers - 1] if tiers else inf
    places: list[dict[int, list[int]]] = [{} for _ in packing.kinds]
    pairs = zip(packing.kind.tolist(), packing.home.tolist(), strict=True)
    for index, (kind, home) in enumerate(pairs):
        places[kind].setdefault(home, []).append(index)
    return {
        number: Replicas(
            kind.priority,
            kind.demand,
            kind.eligible,
            kind.worth,
            pending=tuple(found.pop(NOWHERE, ())),
            at_home={home: tuple(members) for home, members in found.items()},
        )
        for number, (kind, found) in enumerate(zip(packing.kinds, places, strict=True))
        if found and kind.priority >= lowest
    }


@dataclass(slots=True)
class CountVariables:
    """The variables of one kind; ``moved`` counts its running pods that move."""

    replicas: Replicas
    stay: dict[int, int]
    come: dict[int, int]
    moved: int

    @property
    def running(self) -> int:
        """How many run now."""
        return self.replicas.running

    @property
    def size(self) -> int:
        """How many there are."""
        return self.replicas.size

    @property
    def demand(self) -> tuple[int, ...]:
        """What each of them asks for."""
        return self.replicas.demand


@dataclass(slots=True)
class CountFormulation(Formulation):
    """Variables for each kind of pod and node.

    Parameters
    ----------
    numbers
        Which kind of the packing each of ``kinds`` is.
    """

    numbers: list[int] = field(init=False)
    kinds: list[CountVariables] = field(init=False)

    def __post_init__(self) -> None:
        replicas = replicas_of(self.packing, self.tiers)
        self.numbers = list(replicas)
        self.kinds = [self._kind(one) for one in replicas.values()]
        self.add_capacities(
            (node, Presence(variable, kind.replicas.demand, stays))
            for kind in self.kinds
            for variables, stays in ((kind.stay, True), (kind.come, False))
            for node, variable in variables.items()
        )

    @staticmethod
    def variables(packing: Packing, tiers: int) -> int:
        """Return about how many variables the program will have."""
        return sum(len(kind.eligible) + len(kind.at_home) + 1 for kind in replicas_of(packing, tiers).values())

    def metric(self, phase: Phase, tier: int) -> Terms:
        """Return what ``phase`` of ``tier`` maximises."""
        lowest = self.packing.tiers[tier]
        terms: list[tuple[int, int]] = []
        for kind in self.kinds:
            if kind.replicas.priority < lowest:
                continue
            if phase is Phase.PLACE:
                worth = kind.replicas.worth
                terms += [(stay, worth) for stay in kind.stay.values()]
                terms += [(come, worth) for come in kind.come.values()]
            elif phase is Phase.DISRUPT:
                terms += [(stay, STAY) for stay in kind.stay.values()]
                terms.append((kind.moved, ARRIVAL))
            elif kind.replicas.priority == lowest:
                terms += [(stay, 1) for stay in kind.stay.values()]
                terms.append((kind.moved, 1))
        return terms

    def values(self, assignment: Assignment) -> Values:
        """Return ``assignment`` as values of the variables."""
        values = [0] * len(self.program.upper)
        for kind in self.kinds:
            for item, home in _members(kind.replicas):
                node = assignment[item]
                if node is None:
                    continue
                values[kind.stay[node] if node == home else kind.come[node]] += 1
                values[kind.moved] += home is not None and node != home
        return values

    def read(self, values: Values, otherwise: Assignment) -> Assignment:
        """Return the assignment that ``values`` stand for."""
        assignment = list(otherwise)
        for kind in self.kinds:
            _read(kind, values, assignment)
        return tuple(assignment)

    def used_nodes(self) -> dict[int, int]:
        """Return a new variable by node: 1 unless none of the pods is there."""
        on_node: dict[int, list[int]] = {}
        for kind in self.kinds:
            for variables in (kind.stay, kind.come):
                for node, variable in variables.items():
                    on_node.setdefault(node, []).append(variable)
        used = {}
        for node, present in on_node.items():
            used[node] = self.program.variable()
            for variable in present:
                upper = self.program.upper[variable]
                self.program.at_most([(variable, 1), (used[node], -upper)], 0)
        return used

    def _kind(self, replicas: Replicas) -> CountVariables:
        program, size = self.program, replicas.size
        stay = {node: program.variable(len(members)) for node, members in replicas.at_home.items()}
        come = {node: program.variable(size - len(replicas.at_home.get(node, ()))) for node in replicas.eligible}
        moved = program.variable(replicas.running)
        stays = [(variable, 1) for variable in stay.values()]
        comes = [(variable, 1) for variable in come.values()]
        program.at_most([*stays, (moved, 1)], replicas.running)
        # A pod that comes was pending or moves.
        program.between([*comes, (moved, -1)], 0, len(replicas.pending))
        return CountVariables(replicas, stay, come, moved)


def _read(kind: CountVariables, values: Values, assignment: list[int | None]) -> None:
    free = {node: values[come] for node, come in kind.come.items()}
    moved = values[kind.moved]
    leavers: list[int] = []
    for home, members in kind.replicas.at_home.items():
        stay = values[kind.stay[home]]
        back = min(free.get(home, 0), len(members) - stay)
        free[home] = free.get(home, 0) - back
        moved -= back
        leavers += members[stay + back :]
        for item in members[: stay + back]:
            assignment[item] = home
    for item in (*leavers, *kind.replicas.pending):
        assignment[item] = None
    places = [node for node, count in free.items() for _ in range(count)]
    seekers = (*leavers[: max(0, moved)], *kind.replicas.pending)
    for item, node in zip(seekers, places, strict=False):
        assignment[item] = node


def _members(replicas: Replicas) -> Iterator[tuple[int, int | None]]:
    for item in replicas.pending:
        yield item, None
    for home, members in replicas.at_home.items():
        for item in members:
            yield item, home
