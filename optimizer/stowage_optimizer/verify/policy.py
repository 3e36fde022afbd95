"""The strict policy: no pod makes way for one of the same or a lower priority.

The rule compares every evicted pod with every node. Counting each node's pods anew
for each of them took minutes on 5,000 nodes, so free amounts are kept by priority,
one list a resource. (No arrays: the serving process does without their library.)
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass, field

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.arrival_order import demanding
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.gangs import leaving_together
from stowage_optimizer.verify.movability import Disruptable
from stowage_optimizer.verify.placements import port_rivals
from stowage_optimizer.verify.spare_devices import SpareDevices
from stowage_optimizer.verify.violation import Violation


@dataclass(frozen=True, slots=True)
class _FreeRoom:
    """The room that is left beside the pods that need not make way for a priority.

    Parameters
    ----------
    free
        By resource, the amount by node; negative where too much is used.
    asked
        By resource, nodes with a newcomer that requests it: only there must the
        resource also suffice for pods that request none of it.
    """

    free: dict[str, list[int]]
    asked: Mapping[str, Set[int]]
    _ranked: dict[str, tuple[list[int], list[int]]] = field(default_factory=dict)

    def roomiest(self, wanted: Mapping[str, int]) -> list[int]:
        """Return the nodes with enough of that resource which fewest have enough of."""
        candidates = list(range(len(next(iter(self.free.values()), ()))))
        for name, free in self.free.items():
            if not wanted[name]:
                continue
            if name not in self._ranked:
                nodes = sorted(range(len(free)), key=free.__getitem__)
                self._ranked[name] = [free[node] for node in nodes], nodes
            amounts, nodes = self._ranked[name]
            first = bisect_left(amounts, wanted[name])
            if len(nodes) - first < len(candidates):
                candidates = nodes[first:]
        return candidates


class SpareRoom:
    """The room that is left beside the pods that need not make way."""

    def __init__(self, case: Case, disruptable: Disruptable) -> None:
        self._case = case
        self._disruptable = disruptable
        self._names = list(case.nodes)
        self._rooms = dict(self._count())
        # With room, by class: what turns pods away asks for no more than their class.
        self._open: dict[str, list[str]] = {}

    def _count(self) -> Iterator[tuple[int, _FreeRoom]]:
        """Yield the room for each priority that is evicted, the lowest first."""
        case, index = self._case, self._case.index
        evicted = {index.priority[one.class_id] for one in case.evictions}
        highest = max(evicted, default=0)
        tiers: defaultdict[int, list[str]] = defaultdict(list)
        for name in self._disruptable.classes:
            if index.priority[name] < highest:
                tiers[index.priority[name]].append(name)
        free = _copy(index.free)
        for priority in sorted({*tiers, *evicted}):
            if priority in evicted:
                yield priority, self._room(priority, _copy(free))
            for name in tiers[priority]:
                index.give_back(free, name, index.movable[name])

    def _room(self, priority: int, free: dict[str, list[int]]) -> _FreeRoom:
        """Return the room for ``priority``.

        Parameters
        ----------
        free
            As if movable pods of wholly disruptable, lower classes were not there.
        """
        case, index = self._case, self._case.index
        left: defaultdict[str, list[int]] = defaultdict(list)
        came: defaultdict[str, list[int]] = defaultdict(list)
        for uid, _, target, class_id, home in case.touched.values():
            own, disruptable = index.priority[class_id], uid in self._disruptable
            wholly = disruptable and class_id in self._disruptable.classes
            if home == target or (home and wholly and own < priority):
                continue
            if home:
                left[class_id].append(index.number[home])
            if target and _stays(own, priority, bool(home), disruptable):
                came[class_id].append(index.number[target])
        asked: defaultdict[str, set[int]] = defaultdict(set)
        for class_id, numbers in left.items():
            index.give_back(free, class_id, numbers)
        for class_id, numbers in came.items():
            index.give_back(free, class_id, numbers, -1)
            for name, _ in index.asked_for[class_id]:
                asked[name].update(numbers)
        return _FreeRoom(free, asked)

    def nodes_for(self, uid: str) -> Iterator[str]:
        """Yield the nodes that the evicted pod fits on and may come to, home first."""
        home, class_id = self._case.before(uid), self._case.class_id(uid)
        if self._fits_at_home(uid):
            yield home
        if class_id not in self._open:
            self._open[class_id] = self._case.index.eligibility.welcoming(class_id, self._with_room(uid))
        yield from (name for name in self._open[class_id] if name != home)

    def fitting_at_home(self, uids: Collection[str]) -> list[str]:
        """Return which of ``uids``, of one priority, could have stayed beside each other."""
        case, fits = self._case, list[str]()
        taken: Counter[tuple[str, str]] = Counter()
        for uid in uids:
            home, wanted = case.before(uid), case.requests(uid)
            free = self._rooms[case.priority(uid)].free
            number = case.index.number[home]
            together = all(
                left[number] >= taken[name, home] + wanted[name] for name, left in free.items() if taken[name, home]
            )
            if together and self._fits_at_home(uid):
                fits.append(uid)
                for name, _ in case.index.asked_for[case.class_id(uid)]:
                    taken[name, home] += wanted[name]
        return fits

    def _with_room(self, uid: str) -> list[str]:
        room = self._rooms[self._case.priority(uid)]
        wanted = self._case.requests(uid)
        found = sorted(room.roomiest(wanted))
        for name, free in room.free.items():
            amount, asked = wanted[name], room.asked[name]
            if amount:
                found = [node for node in found if free[node] >= amount]
            elif asked:
                found = [node for node in found if free[node] >= 0 or node not in asked]
        return [self._names[node] for node in found]

    def _fits_at_home(self, uid: str) -> bool:
        """Return whether the pod could have stayed, without coming to its own node."""
        room = self._rooms[self._case.priority(uid)]
        home = self._case.index.number[self._case.before(uid)]
        wanted = self._case.requests(uid)
        return not any(free[home] < wanted[name] and home in room.asked[name] for name, free in room.free.items())


def _copy(columns: Mapping[str, list[int]]) -> dict[str, list[int]]:
    return {name: list(column) for name, column in columns.items()}


class Conflicts:
    """The conflicts of evicted pods with pods that need not make way."""

    def __init__(self, case: Case, disruptable: Disruptable) -> None:
        self._case = case
        self._disruptable = disruptable
        self._each_node = {name: name for name in case.nodes}
        self._rivals: dict[str, list[tuple[str | None, Collection[str]]]] = {}
        self._held: dict[tuple[str | None, str, int, bool], set[str]] = {}

    def refuse(self, uid: str, node: str) -> bool:
        """Return whether a pod that stays clashes with the pod ``uid`` on ``node``.

        Two pods that are where they were before do not: they may stay as they are.
        """
        case, class_id = self._case, self._case.class_id(uid)
        if class_id not in self._rivals:
            apart = case.index.apart.get(class_id, ())
            self._rivals[class_id] = [(None, port_rivals(case, class_id)), *apart]
        priority, at_home = case.priority(uid), node == case.before(uid)
        return any(
            self._domains(key).get(node) in self._taken(key, rival, priority, at_home)
            for key, rivals in self._rivals[class_id]
            for rival in rivals
        )

    def _domains(self, key: str | None) -> Mapping[str, str]:
        """Return the domain of each node: the node itself, where ports clash."""
        return self._each_node if key is None else self._case.index.domains(key)

    def _taken(self, key: str | None, rival: str, priority: int, at_home: bool) -> set[str]:
        """Return the domains with a pod of the class that stays; at home a newcomer."""
        known = key, rival, priority, at_home
        if known not in self._held:
            case, domains = self._case, self._domains(key)
            own = case.index.priority[rival]
            self._held[known] = {
                domains[node]
                for uid in case.index.members[rival]
                if (node := case.after(uid)) in domains
                and not (at_home and node == case.before(uid))
                and _stays(own, priority, bool(case.before(uid)), uid in self._disruptable)
            }
        return self._held[known]


def check_policy(case: Case) -> Iterator[Violation]:
    """Yield evicted pods for which no pod of strictly higher priority is to blame.

    Two things are checked of each: some pending pod of strictly higher priority gets
    a node, and the evicted pod would not fit anywhere even if every pod of lower
    priority, and every newly placed one of its own, were not there.
    """
    if case.policy != pb.POLICY_STRICT:
        return
    # A pending pod cannot be evicted: that is another rule.
    evicted = [one.uid for one in case.evictions if one.home]
    if not evicted:
        return
    gained = max((case.priority(one.uid) for one in case.placements), default=None)
    disruptable = Disruptable(case)
    conflicts = Conflicts(case, disruptable)
    spare = SpareRoom(case, disruptable)
    devices = SpareDevices(case, lambda uid, priority: _uid_stays(case, disruptable, uid, priority))
    together = list(leaving_together(case))
    apart = {uid for one in together for uid in one.uids}
    for uid in evicted:
        priority = case.priority(uid)
        if gained is None or gained <= priority:
            yield Violation("policy", uid, f"evicted, but nothing above priority {priority} gains")
            continue
        if uid in apart:
            continue
        if demanding(case.class_of(uid)):
            # Where it fits depends on which pods come, and in which order.
            continue
        for node in spare.nodes_for(uid):
            if not conflicts.refuse(uid, node) and devices.fit(uid, node):
                yield Violation("policy", uid, f"evicted for its own kind: it fits on {node}")
                break
    for group in together:
        fits = [
            uid
            for uid in spare.fitting_at_home(group.uids)
            if not conflicts.refuse(uid, case.before(uid)) and devices.fit(uid, case.before(uid))
        ]
        if len(fits) >= group.needed:
            yield Violation("policy", fits[0], f"evicted with its gang, of which {len(fits)} pods could stay")


def _uid_stays(case: Case, disruptable: Disruptable, uid: str, priority: int) -> bool:
    """Return whether the pod ``uid`` need not make way for ``priority``."""
    return _stays(case.priority(uid), priority, bool(case.before(uid)), uid in disruptable)


def _stays(own: int, priority: int, runs: bool, disruptable: bool) -> bool:
    """Return whether a pod of priority ``own`` need not make way for ``priority``."""
    return own > priority or (runs and (own == priority or not disruptable))
