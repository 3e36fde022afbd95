"""What relations between pods leave of all assignments, as rows of an integer program.

While a plan is carried out, counts only rise, once all leaving pods have left. So the
last pod of a class that comes to a domain finds all staying pods there, and all of its
class that came before it; and no domain has more pods then than in the end.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from stowage_optimizer.model.relations import NO_DOMAIN, Relations, Rules, Spread, Tally
from stowage_optimizer.model.tie import Rows, Terms, Values

NOWHERE = -2
"""A domain without pods, that counts where there are too few others."""

Sums = Mapping[int, list[int]]
"""Variables by domain."""


@dataclass(slots=True)
class RelationRows:
    """Writes the rows of one program."""

    relations: Relations
    rows: Rows

    def add(self) -> None:
        """Add the rows of every class with demands."""
        for class_id, rules in self.relations.rules.items():
            if class_id in self.rows.kinds:
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
                    self.rows.program.at_most([(come, 1)], 0)

    def _add_anti_affinity(self, class_id: str, index: int) -> None:
        """Where a pod of the class came, no other pod may be counted."""
        tally = self.relations.tallies[index]
        itself = int(index in self.relations.counting.get(class_id, ()))
        fixed, counted = self._fixed(index), self._counted(index)
        for domain, comes in self._by_domain(class_id, tally).items():
            terms = [(one, 1) for one in counted.get(domain, ())]
            most = self.rows.most(terms) + fixed[domain]
            if most > itself:
                came = self.rows.any_of(comes)
                limit = most - fixed[domain]
                self.rows.program.at_most([*terms, (came, most - itself)], limit)

    def _add_affinity(self, class_id: str, index: int) -> None:
        """Where a pod of the class came, some pod must be counted."""
        if self._unknown(index):
            return
        tally, fixed = self.relations.tallies[index], self._fixed(index)
        counted = self._counted(index)
        for domain, comes in self._by_domain(class_id, tally).items():
            if not fixed[domain]:
                there = [(one, -1) for one in counted.get(domain, ())]
                self.rows.program.at_most([*there, (self.rows.any_of(comes), 1)], 0)

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
            for other, kinds in self.rows.kinds.items()
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
                firsts.append(self.rows.derived(partial(_is_first, tuple(comes), tuple(there))))
                enough.append(firsts[-1])
            before = [(one, -1) for one in enough]
            self.rows.program.at_most([*before, (self.rows.any_of(comes), 1)], 0)
        self.rows.program.at_most([(one, 1) for one in firsts], 1)
        for stay in stays:
            # One that stays, wherever it is, leaves no domain to be the first.
            upper = self.rows.program.upper[stay]
            self.rows.program.at_most([(stay, 1), *((one, upper) for one in firsts)], upper)

    def _unknown(self, index: int) -> int:
        """Return how many pods that the program does not have a tally may count."""
        return sum(
            count for class_id, count in self.rows.missing.items() if index in self.relations.counting.get(class_id, ())
        )

    def _add_spread(self, class_id: str, spread: Spread) -> None:
        """Where a pod of the class came, there are not many more than elsewhere."""
        tally = self.relations.tallies[spread.tally]
        fixed = self._fixed(spread.tally)
        unknown = self._unknown(spread.tally)
        total = self._counted(spread.tally)
        for domain, comes in self._by_domain(class_id, tally).items():
            found = self._found(class_id, spread, domain)
            came = self.rows.any_of(comes)
            for other in self._least(spread):
                if other == domain:
                    continue
                # came = 1 demands: found + fixed - elsewhere <= max_skew.
                there = [(one, -1) for one in total.get(other, ())]
                rest = 0 if other == NOWHERE else fixed[other] + unknown
                limit = spread.max_skew - fixed[domain] + rest
                slack = max(0, self.rows.most(found) - limit)
                if slack:
                    self.rows.program.at_most([*found, *there, (came, slack)], limit + slack)

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
            for other in self.rows.kinds
            if index in self.relations.counting.get(other, ())
            for kind in self.rows.kinds[other]
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

    def _comes(self, class_id: str) -> Iterator[tuple[int, int]]:
        for kind in self.rows.kinds[class_id]:
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
        for class_id, kinds in self.rows.kinds.items():
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


def _counts(tally: Tally, node: int) -> bool:
    """Return whether pods on ``node`` count."""
    if tally.domain_of[node] == NO_DOMAIN:
        return False
    return tally.counted is None or node in tally.counted


def _is_first(comes: Sequence[int], there: Sequence[int], values: Values) -> bool:
    """Return whether any pod comes, and none of the others is there."""
    return any(values[one] for one in comes) and not any(values[one] for one in there)
