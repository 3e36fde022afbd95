"""The program that counts replicas, with the rows of what ties pods to each other."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace

import numpy as np

from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.tie import Rows, Values
from stowage_optimizer.programs.counts import CountFormulation, CountVariables


@dataclass(slots=True)
class TiedFormulation(CountFormulation):
    """A `CountFormulation` whose kinds are of one class, with more rows.

    Ties may be about the order in which pods come. They restrict the final state less, and
    rows express only that: whatever a plan can reach meets them, but not all that meets
    them can be reached. So bounds that are proved with them hold.
    """

    _rows: Rows = field(init=False)

    def __post_init__(self) -> None:
        tied = self.packing
        self.packing, names = by_class(tied)
        self.tiers = tiers_in_play(tied, self.tiers)
        CountFormulation.__post_init__(self)
        kinds: defaultdict[str, list[CountVariables]] = defaultdict(list)
        for number, kind in zip(self.numbers, self.kinds, strict=True):
            kinds[names[number]].append(kind)
        written = set(self.numbers)
        missing = Counter(names[number] for number in self.packing.kind.tolist() if number not in written)
        self._rows = Rows(self.program, kinds, missing)
        for tie in tied.ties:
            tie.write(tied, self._rows)
        # In a second, 4 of 8 clusters of 32 to 64 nodes with gangs are proved by relaxations, and 1 without them.
        self.program.relaxes = tied.gregarious

    @staticmethod
    def variables(packing: Packing, tiers: int) -> int:
        """Return about how many variables the program will have."""
        return CountFormulation.variables(by_class(packing)[0], tiers_in_play(packing, tiers))

    def values(self, assignment: Assignment) -> Values:
        """Return ``assignment`` as values of the variables."""
        values = list(CountFormulation.values(self, assignment))
        self._rows.complete(values)
        return values


def tiers_in_play(packing: Packing, tiers: int) -> int:
    """Return how many tiers a program about the first ``tiers`` must have.

    Pods below give way to those above; but where ties count them, they may not all.
    """
    return tiers if all(tie.partial for tie in packing.ties) else len(packing.tiers)


def by_class(packing: Packing) -> tuple[Packing, tuple[str, ...]]:
    """Return ``packing`` with kinds of one class each, and their class ids.

    Kinds of several classes may be the same then. Without ties classes do not matter:
    nothing is changed, and the ids are empty.
    """
    if not packing.ties:
        return packing, ("",) * len(packing.kinds)
    parts: dict[tuple[int, str], int] = {}
    pairs = zip(packing.kind.tolist(), packing.class_ids, strict=True)
    kind = [parts.setdefault(pair, len(parts)) for pair in pairs]
    kinds = tuple(packing.kinds[number] for number, _ in parts)
    names = tuple(name for _, name in parts)
    return replace(packing, kinds=kinds, kind=np.array(kind, np.int32)), names
