"""Counts of replicas on nodes, with what relations and allowances allow.

What every plan that keeps the relations must meet is written as linear rows. Relations
are about the order in which pods come. They restrict the final state less, and these
rows express only that: whatever a plan can reach meets them, but not all that meets
them can be reached. So limits that are proved with them hold.

While a plan is carried out, counts only rise, once all leaving pods have left. So the
last pod of a class that comes to a domain finds all staying pods there, and all of its
class that came before it; and no domain has more pods then than in the end.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from stowage_optimizer.model.packing import Allowance, Assignment, Disrupted, Packing
from stowage_optimizer.model.relations import NO_DOMAIN, Relations, Rules, Spread, Tally
from stowage_optimizer.programs.counts import CountFormulation, Kind
from stowage_optimizer.programs.program import LinearProgram, Terms
from stowage_optimizer.programs.solver import Values

NOWHERE = -2
"""A domain without pods, that counts where there are too few others."""

Sums = Mapping[int, list[int]]
"""Variables by domain."""


@dataclass(slots=True)
class RelatedFormulation(CountFormulation):
    """A `CountFormulation` whose kinds are of one class, with more rows."""

    _rows: RelationRows | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        relations, class_of = self.packing.relations, classes_of(self.packing)
        self.packing, names = by_class(self.packing)
        self.tiers = tiers_in_play(self.packing, self.tiers)
        CountFormulation.__post_init__(self)
        kinds: defaultdict[str, list[Kind]] = defaultdict(list)
        for number, kind in zip(self.numbers, self.kinds, strict=True):
            kinds[names[number]].append(kind)
        for allowance in self.packing.allowances:
            covered = {class_of[index] for index in allowance.members}
            self._add_allowance(allowance, [kind for name in sorted(covered) for kind in kinds[name]])
        if relations is None:
            return
        lowest = self.packing.tiers[self.tiers - 1]
        below = [kind.priority < lowest for kind in self.packing.kinds]
        missing = Counter(names[number] for number in self.packing.kind.tolist() if below[number])
        self._rows = RelationRows(relations, self.program, kinds, missing)
        self._rows.add()

    @staticmethod
    def variables(packing: Packing, tiers: int) -> int:
        """Return about how many variables the program will have."""
        return CountFormulation.variables(by_class(packing)[0], tiers_in_play(packing, tiers))

    def values(self, assignment: Assignment) -> Values:
        """Return ``assignment`` as values of the variables."""
        values = list(CountFormulation.values(self, assignment))
        if self._rows is not None:
            for came, comes in self._rows.arrivals:
                values[came] = int(any(values[one] for one in comes))
            for first, comes, there in self._rows.firsts:
                others = any(values[one] for one in there)
                values[first] = int(any(values[one] for one in comes) and not others)
        return values

    def _add_allowance(self, allowance: Allowance, kinds: Sequence[Kind]) -> None:
        """Add the row of ``allowance``, whose members are all running pods of kinds."""
        moved = [(kind.moved, 1) for kind in kinds]
        if allowance.counts is Disrupted.MOVES:
            self.program.at_most(moved, allowance.most)
            return
        stays = [(stay, -1) for kind in kinds for stay in kind.stay.values()]
        if allowance.counts is Disrupted.EVICTIONS:
            stays += [(variable, -1) for variable, _ in moved]
        running = sum(kind.replicas.running for kind in kinds)
        self.program.at_most(stays, allowance.most - running)


def tiers_in_play(packing: Packing, tiers: int) -> int:
    """Return how many tiers a program about the first ``tiers`` must have.

    Pods below give way to those above; but where allowances count, they may not all.
    """
    return len(packing.tiers) if packing.allowances else tiers


def classes_of(packing: Packing) -> tuple[str, ...]:
    """Return the class id of each item, where classes matter; else nothing."""
    if packing.relations is not None:
        return packing.relations.class_of
    if packing.allowances:
        return packing.class_ids
    return ()


def by_class(packing: Packing) -> tuple[Packing, tuple[str, ...]]:
    """Return ``packing`` with kinds of one class each, and their class ids.

    Kinds of several classes may be the same then. Where classes do not matter, nothing
    is changed, and the ids are empty.
    """
    class_of = classes_of(packing)
    if not class_of:
        return packing, ("",) * len(packing.kinds)
    parts: dict[tuple[int, str], int] = {}
    pairs = zip(packing.kind.tolist(), class_of, strict=True)
    kind = [parts.setdefault(pair, len(parts)) for pair in pairs]
    kinds = tuple(packing.kinds[number] for number, _ in parts)
    names = tuple(name for _, name in parts)
    return replace(packing, kinds=kinds, kind=np.array(kind, np.int32)), names


@dataclass(slots=True)
class RelationRows:
    """Writes the rows of one program.

    Parameters
    ----------
    kinds
        The variables by class; the pods of a kind are all of one class.
    missing
        Pods in play that the program does not have, by class.
    """

    relations: Relations
    program: LinearProgram
    kinds: Mapping[str, list[Kind]]
    missing: Mapping[str, int]
    arrivals: list[tuple[int, list[int]]] = field(default_factory=list)
    """Variables that say whether any of some others is more than 0."""
    firsts: list[tuple[int, list[int], list[int]]] = field(default_factory=list)
    """Variables that say whether any of some is, and none of others."""

    def add(self) -> None:
        """Add the rows of every class with demands."""
        for class_id, rules in self.relations.rules.items():
            if class_id in self.kinds:
                self._close_nodes(class_id, rules)
                for tally in rules.anti_affinity:
                    self._add_anti_affinity(class_id, tally)
                for spread in rules.spread:
                    self._add_spread(class_id, spread)
                if rules.affinity is not None and not rules.affinity.matches_itself:
                    for tally in rules.affinity.tallies:
                        self._add_affinity(class_id, tally)
                elif rules.affinity is not None and len(rules.affinity.tallies) == 1:
                    self._add_own_affinity(class_id, rules.affinity.tallies[0])

    def _close_nodes(self, class_id: str, rules: Rules) -> None:
        """Close the nodes that have none of the labels that a class needs."""
        needed = [spread.tally for spread in rules.spread]
        needed += [] if rules.affinity is None else rules.affinity.tallies
        for index in needed:
            domain_of = self.relations.tallies[index].domain_of
            for node, come in self._comes(class_id):
                if domain_of[node] == NO_DOMAIN:
                    self.program.at_most([(come, 1)], 0)

    def _add_anti_affinity(self, class_id: str, index: int) -> None:
        """Where a pod of the class came, no other pod may be counted."""
        tally = self.relations.tallies[index]
        itself = int(index in self.relations.counting.get(class_id, ()))
        fixed, counted = self._fixed(index), self._counted(index)
        for domain, comes in self._by_domain(class_id, tally).items():
            terms = [(one, 1) for one in counted.get(domain, ())]
            most = self._most(terms) + fixed[domain]
            if most > itself:
                came = self._came(comes)
                limit = most - fixed[domain]
                self.program.at_most([*terms, (came, most - itself)], limit)

    def _add_affinity(self, class_id: str, index: int) -> None:
        """Where a pod of the class came, some pod must be counted."""
        if self._unknown(index):
            return
        tally, fixed = self.relations.tallies[index], self._fixed(index)
        counted = self._counted(index)
        for domain, comes in self._by_domain(class_id, tally).items():
            if not fixed[domain]:
                there = [(one, -1) for one in counted.get(domain, ())]
                self.program.at_most([*there, (self._came(comes), 1)], 0)

    def _add_own_affinity(self, class_id: str, index: int) -> None:
        """Where a pod of the class came, others were before; in one domain, none was.

        There no pod may be counted that was anywhere before any came.
        """
        if self._unknown(index):
            return
        tally, fixed = self.relations.tallies[index], self._fixed(index)
        counted, own = self._counted(index), {one for _, one in self._comes(class_id)}
        stays = [
            stay
            for other, kinds in self.kinds.items()
            if index in self.relations.counting.get(other, ())
            for kind in kinds
            for node, stay in kind.stay.items()
            if _counts(tally, node)
        ]
        firsts: list[int] = []
        for domain, comes in self._by_domain(class_id, tally).items():
            if fixed[domain]:
                continue
            there = [one for one in counted.get(domain, ()) if one not in own]
            enough = list(there)
            if not fixed.total():
                firsts.append(self.program.variable())
                self.firsts.append((firsts[-1], comes, there))
                enough.append(firsts[-1])
            before = [(one, -1) for one in enough]
            self.program.at_most([*before, (self._came(comes), 1)], 0)
        self.program.at_most([(one, 1) for one in firsts], 1)
        for stay in stays:
            # One that stays, wherever it is, leaves no domain to be the first.
            upper = self.program.upper[stay]
            self.program.at_most([(stay, 1), *((one, upper) for one in firsts)], upper)

    def _unknown(self, index: int) -> int:
        """Return how many pods that the program does not have a tally may count."""
        return sum(
            count for class_id, count in self.missing.items() if index in self.relations.counting.get(class_id, ())
        )

    def _add_spread(self, class_id: str, spread: Spread) -> None:
        """Where a pod of the class came, there are not many more than elsewhere."""
        tally = self.relations.tallies[spread.tally]
        fixed = self._fixed(spread.tally)
        unknown = self._unknown(spread.tally)
        total = self._counted(spread.tally)
        for domain, comes in self._by_domain(class_id, tally).items():
            found = self._found(class_id, spread, domain)
            came = self._came(comes)
            for other in self._least(spread):
                if other == domain:
                    continue
                # came = 1 demands: found + fixed - elsewhere <= max_skew.
                there = [(one, -1) for one in total.get(other, ())]
                rest = 0 if other == NOWHERE else fixed[other] + unknown
                limit = spread.max_skew - fixed[domain] + rest
                slack = max(0, self._most(found) - limit)
                if slack:
                    self.program.at_most([*found, *there, (came, slack)], limit + slack)

    def _least(self, spread: Spread) -> tuple[int, ...]:
        """Return the domains that are compared with."""
        if len(spread.domains) < max(1, spread.min_domains):
            return (NOWHERE,)
        return spread.domains

    def _found(self, class_id: str, spread: Spread, domain: int) -> Terms:
        """Return the pods that are there once the last pod of the class has come."""
        index = spread.tally
        tally = self.relations.tallies[index]
        terms = [
            (stay, 1)
            for other in self.kinds
            if index in self.relations.counting.get(other, ())
            for kind in self.kinds[other]
            for node, stay in kind.stay.items()
            if _counts(tally, node) and tally.domain_of[node] == domain
        ]
        if spread.self_match and index in self.relations.counting.get(class_id, ()):
            terms += [
                (come, 1)
                for node, come in self._comes(class_id)
                if _counts(tally, node) and tally.domain_of[node] == domain
            ]
        return terms

    def _came(self, comes: list[int]) -> int:
        """Return a variable that is 1 if any pod of ``comes`` comes."""
        came = self.program.variable()
        for one in comes:
            self.program.at_most([(one, 1), (came, -self.program.upper[one])], 0)
        self.arrivals.append((came, comes))
        return came

    def _comes(self, class_id: str) -> Iterator[tuple[int, int]]:
        for kind in self.kinds[class_id]:
            yield from kind.come.items()

    def _by_domain(self, class_id: str, tally: Tally) -> Sums:
        found: defaultdict[int, list[int]] = defaultdict(list)
        for node, come in self._comes(class_id):
            if tally.domain_of[node] != NO_DOMAIN:
                found[tally.domain_of[node]].append(come)
        return found

    def _counted(self, index: int) -> Sums:
        """Return the variables of all pods that a tally counts, by domain."""
        tally = self.relations.tallies[index]
        found: defaultdict[int, list[int]] = defaultdict(list)
        for class_id, kinds in self.kinds.items():
            if index not in self.relations.counting.get(class_id, ()):
                continue
            for kind in kinds:
                for node, variable in (*kind.stay.items(), *kind.come.items()):
                    if _counts(tally, node):
                        found[tally.domain_of[node]].append(variable)
        return found

    def _fixed(self, index: int) -> Counter[int]:
        """Return how many pods that stay anyway a tally counts, by domain."""
        tally = self.relations.tallies[index]
        found: Counter[int] = Counter()
        for class_id, node, terminating in self.relations.staying:
            counted = index in self.relations.counting.get(class_id, ())
            if counted and _counts(tally, node) and not (tally.living and terminating):
                found[tally.domain_of[node]] += 1
        return found

    def _most(self, terms: Terms) -> int:
        return sum(self.program.upper[variable] for variable, _ in terms)


def _counts(tally: Tally, node: int) -> bool:
    """Return whether pods on ``node`` count."""
    if tally.domain_of[node] == NO_DOMAIN:
        return False
    return tally.counted is None or node in tally.counted
