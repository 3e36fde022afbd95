"""Conflicts between pods on a node, as further amounts that nodes offer and pods take.

Host ports and required anti-affinity forbid some pods to share a node. On one node that
is a question of amounts: where all of some pods clash with each other, the node offers
one unit and each takes it; where some keep away from others that do not clash among
themselves, they take as many units as there are others, which take one each. This
follows from the contract's messages alone; the solver's reduction is not asked.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.index import amounts
from stowage_optimizer.verify.placements import ALL


@dataclass(frozen=True, slots=True)
class ConflictAmount:
    """An amount that expresses which pods conflict.

    Parameters
    ----------
    name
        Differs from every other such amount, and from every resource.
    key
        Only nodes with this label are concerned; all of them if empty.
    """

    name: str
    takes: Mapping[str, int]
    units: int
    key: str = ""


@dataclass(slots=True)
class Amounts:
    """What pods take of nodes: resources, and conflict amounts."""

    case: Case
    _number: Counter[str] = field(init=False)
    _conflicts: list[ConflictAmount] = field(init=False)
    _taken: dict[str, Counter[str]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._number = Counter(map(self.case.class_id, self.case.pods))
        self._conflicts = [*self._ports(), *self._rules()]

    def taken(self, uid: str) -> Counter[str]:
        """Return what the pod ``uid`` takes; not to be altered."""
        name = self.case.class_id(uid)
        if name not in self._taken:
            self._taken[name] = self.case.requests(uid) + Counter(
                {one.name: one.takes.get(name, 0) for one in self._conflicts}
            )
        return self._taken[name]

    def offered(self, node: str) -> Counter[str]:
        """Return what the node offers; enough of an amount that is not its own."""
        message = self.case.nodes[node]
        offered = amounts(message.allocatable)
        for one in self._conflicts:
            concerned = not one.key or one.key in message.labels
            offered[one.name] = one.units if concerned else self._all(one)
        return offered

    def _all(self, amount: ConflictAmount) -> int:
        return sum(self._number[name] * taken for name, taken in amount.takes.items())

    def _ports(self) -> Iterator[ConflictAmount]:
        """Yield an amount for each address of a port; all addresses count for each."""
        found: defaultdict[tuple[str, int, str], set[str]] = defaultdict(set)
        for name in self._number:
            for one in self.case.classes[name].host_ports:
                key = (one.protocol or "TCP", one.port, one.host_ip or ALL)
                found[key].add(name)
        for (protocol, port, address), names in found.items():
            takes = dict.fromkeys(names | found.get((protocol, port, ALL), set()), 1)
            yield ConflictAmount(f"port {protocol}/{address}:{port}", takes, 1)

    def _rules(self) -> Iterator[ConflictAmount]:
        """Yield what anti-affinity means on one node; pods there share every domain."""
        carriers: defaultdict[tuple[str, frozenset[str]], list[str]] = defaultdict(list)
        for rule in self.case.index.anti_affinity:
            carriers[rule.key, rule.others].append(rule.carrier)
        for index, ((key, others), names) in enumerate(carriers.items()):
            mutual = [name for name in names if name in others]
            if mutual:
                others_count = sum(self._number[one] for one in others.difference(mutual))
                takes = dict.fromkeys(others, 1)
                takes |= dict.fromkeys(mutual, max(1, others_count))
                yield ConflictAmount(f"rule {index}", takes, max(1, others_count), key)
            for name in set(names).difference(mutual):
                one_sided = self._one_sided(name, others)
                if one_sided:
                    units = max(one_sided.values())
                    yield ConflictAmount(f"rule {index} of {name}", one_sided, units, key)

    def _one_sided(self, carrier: str, others: frozenset[str]) -> dict[str, int]:
        """Return what is taken where neither side clashes with itself.

        Many of the one or many of the others, but never both: no amount expresses that.
        It does where one of the sides is a single pod; else nothing is asked, and what
        is proved then is true for more plans than there are.
        """
        number = sum(self._number[one] for one in others)
        if number == 1:
            return {**dict.fromkeys(others, self._number[carrier]), carrier: 1}
        if self._number[carrier] == 1:
            return {**dict.fromkeys(others, 1), carrier: number}
        return {}
