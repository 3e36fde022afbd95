"""Counts of replicas on nodes, with what the relations between pods allow."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace

from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.strategies.linear.counts import CountFormulation, Kind
from stowage_optimizer.strategies.linear.formulation import Phase
from stowage_optimizer.strategies.linear.program import LinearProgram, Terms, Values
from stowage_optimizer.strategies.related.rows import RelationRows


@dataclass(slots=True)
class RelatedFormulation:
    """A `CountFormulation` whose kinds are of one class, with more rows.

    Parameters
    ----------
    packing
        The problem, with relations.
    tiers
        How many of its tiers are in the program, from the highest.
    """

    packing: Packing
    tiers: int
    program: LinearProgram = field(init=False)
    _counts: CountFormulation = field(init=False)
    _rows: RelationRows | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._counts = CountFormulation(with_class_dimension(self.packing), self.tiers)
        self.program = self._counts.program
        relations = self.packing.relations
        if relations is None:
            return
        names = sorted(set(relations.class_of))
        kinds: defaultdict[str, list[Kind]] = defaultdict(list)
        for kind in self._counts.kinds:
            kinds[names[kind.replicas.demand[-1]]].append(kind)
        lowest = self.packing.tiers[self.tiers - 1]
        missing = Counter(
            class_id
            for item, class_id in zip(
                self.packing.items, relations.class_of, strict=True
            )
            if item.priority < lowest
        )
        self._rows = RelationRows(relations, self.program, kinds, missing)
        self._rows.add()

    @staticmethod
    def variables(packing: Packing, tiers: int) -> int:
        """Return about how many variables the program will have."""
        return CountFormulation.variables(with_class_dimension(packing), tiers)

    def metric(self, phase: Phase, tier: int) -> Terms:
        """Return what ``phase`` of ``tier`` maximises; see `Formulation.metric`."""
        return self._counts.metric(phase, tier)

    def values(self, assignment: Assignment) -> Values:
        """Return ``assignment`` as values of the variables."""
        values = list(self._counts.values(assignment))
        if self._rows is not None:
            for came, comes in self._rows.arrivals:
                values[came] = int(any(values[one] for one in comes))
        return values

    def used_nodes(self) -> dict[int, int]:
        """Return a new variable by node; see `CountFormulation.used_nodes`."""
        return self._counts.used_nodes()

    def read(self, values: Values, otherwise: Assignment) -> Assignment:
        """Return the assignment that ``values`` stand for."""
        return self._counts.read(values, otherwise)


def with_class_dimension(packing: Packing) -> Packing:
    """Return ``packing`` with one more dimension, of which there is plenty.

    Pods of one class take the same amount of it, and others another one.
    """
    relations = packing.relations
    if relations is None:
        return packing
    number = {name: at for at, name in enumerate(sorted(set(relations.class_of)))}
    plenty = len(number) * len(packing.items)
    return replace(
        packing,
        room=tuple((*amounts, plenty) for amounts in packing.room),
        items=tuple(
            replace(item, demand=(*item.demand, number[class_id]))
            for item, class_id in zip(packing.items, relations.class_of, strict=True)
        ),
    )
