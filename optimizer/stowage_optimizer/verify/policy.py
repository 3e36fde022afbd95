"""The strict policy: no pod makes way for one of the same or a lower priority.

The rule compares every evicted pod with every node. Counting each node's pods anew
for each of them took minutes on 5,000 nodes, so free amounts are kept by priority,
one list a resource. (No arrays: the serving process does without their library.)
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.anti_affinity import (
    AntiAffinityRule,
    anti_affinity_rules,
    conflicting_classes,
)
from stowage_optimizer.verify.case import Case, amounts
from stowage_optimizer.verify.movability import disruptable_pods
from stowage_optimizer.verify.order import demanding
from stowage_optimizer.verify.places import port_clashes, turned_away
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
    asked: dict[str, set[int]]
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

    def __init__(self, case: Case, disruptable: Set[str]) -> None:
        self._case = case
        self._disruptable = disruptable
        self._names = list(case.nodes)
        self._index = {name: index for index, name in enumerate(self._names)}
        extended = {
            name for one in case.classes.values() for name in one.requests.extended
        }
        asked = extended.union(amounts(pb.Resources()))
        rooms = [amounts(node.allocatable) for node in case.nodes.values()]
        for reservation in case.snapshot.reservations:
            rooms[self._index[reservation.node]].subtract(amounts(reservation.held))
        self._room = {name: [room[name] for room in rooms] for name in sorted(asked)}
        self._free_rooms: dict[int, _FreeRoom] = {}
        # With room, by class: what turns pods away asks for no more than their class.
        self._open: dict[str, list[str]] = {}
        # By node; classes that require the same of nodes share what is known.
        self._closed: dict[bytes, dict[str, bool]] = {}
        self._closed_to: dict[str, dict[str, bool]] = {}

    def nodes_for(self, uid: str) -> Iterator[str]:
        """Yield the nodes that the evicted pod fits on and may come to, home first."""
        home, class_id = self._case.before[uid], self._case.class_of(uid).id
        if self._fits_at_home(uid):
            yield home
        if class_id not in self._open:
            roomy = self._with_room(uid)
            self._open[class_id] = [
                name for name in roomy if not self._turns_away(uid, name)
            ]
        yield from (name for name in self._open[class_id] if name != home)

    def _with_room(self, uid: str) -> list[str]:
        room = self._room_for(self._case.priority(uid))
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
        room = self._room_for(self._case.priority(uid))
        home = self._index[self._case.before[uid]]
        wanted = self._case.requests(uid)
        return not any(
            free[home] < wanted[name] and home in room.asked[name]
            for name, free in room.free.items()
        )

    def _room_for(self, priority: int) -> _FreeRoom:
        if priority not in self._free_rooms:
            self._free_rooms[priority] = self._counted(priority)
        return self._free_rooms[priority]

    def _counted(self, priority: int) -> _FreeRoom:
        case = self._case
        free = {name: list(room) for name, room in self._room.items()}
        asked: dict[str, set[int]] = {name: set() for name in free}
        for uid, where in case.after.items():
            if not where or not _stays(case, uid, priority, self._disruptable):
                continue
            node, comes = self._index[where], case.before[uid] != where
            for name, amount in case.asked_for(uid):
                free[name][node] -= amount
                if comes:
                    asked[name].add(node)
        return _FreeRoom(free, asked)

    def _turns_away(self, uid: str, node: str) -> bool:
        class_id = self._case.class_of(uid).id
        if (class_id, node) in self._case.forbidden:
            return True
        if class_id not in self._closed_to:
            asked = _node_requirements(self._case.class_of(uid))
            self._closed_to[class_id] = self._closed.setdefault(asked, {})
        closed = self._closed_to[class_id]
        if node not in closed:
            closed[node] = bool(turned_away(self._case, uid, node))
        return closed[node]


def _node_requirements(wanted: pb.PodClass) -> bytes:
    """Return what of a class decides which nodes refuse it."""
    return pb.PodClass(
        node_selector=wanted.node_selector,
        required_node_affinity=wanted.required_node_affinity,
        tolerations=wanted.tolerations,
        volume_node_affinity=wanted.volume_node_affinity,
    ).SerializeToString(deterministic=True)


Staying = Callable[[str], list[str]]
"""Returns the pods that stay on a node, by the node's name."""


@dataclass(slots=True)
class Conflicts:
    """The conflicts between the pods of one case."""

    case: Case
    _rules: list[AntiAffinityRule] = field(init=False)

    def __post_init__(self) -> None:
        self._rules = anti_affinity_rules(self.case)

    def refuses(self, uid: str, node: str, staying: Staying) -> bool:
        """Return whether a pod that stays clashes with the pod ``uid`` on ``node``.

        Two pods that are where they were before do not: they may stay as they are.
        """
        here = [other for other in staying(node) if self._meets(uid, node, other)]
        if any(port_clashes(self.case, uid, here)):
            return True
        mine = self.case.pods[uid].class_id
        return any(
            self._meets(uid, node, other)
            for rule in self._rules
            if (conflicting := conflicting_classes(rule, mine))
            for place in self._domain(rule.key, node)
            for other in staying(place)
            if other != uid and self.case.pods[other].class_id in conflicting
        )

    def _meets(self, uid: str, node: str, other: str) -> bool:
        pods = self.case.pods
        return pods[uid].node != node or pods[other].node != self.case.after[other]

    def _domain(self, key: str, node: str) -> list[str]:
        labels = self.case.nodes[node].labels
        if key not in labels:
            return []
        return [
            name
            for name, other in self.case.nodes.items()
            if key in other.labels and other.labels[key] == labels[key]
        ]


def check_policy(case: Case) -> Iterator[Violation]:
    """Yield evicted pods for which no pod of strictly higher priority is to blame.

    Two things are checked of each: some pending pod of strictly higher priority gets
    a node, and the evicted pod would not fit anywhere even if every pod of lower
    priority, and every newly placed one of its own, were not there.
    """
    if case.policy != pb.POLICY_STRICT:
        return
    # A pending pod cannot be evicted: that is another rule.
    evicted = [one.pod_uid for one in case.evictions if case.before[one.pod_uid]]
    if not evicted:
        return
    gained = [case.priority(one.pod_uid) for one in case.placements]
    disruptable = disruptable_pods(case)
    on_nodes = case.on_nodes()
    conflicts = Conflicts(case)
    spare = SpareRoom(case, disruptable)
    for uid in evicted:
        priority = case.priority(uid)
        if not any(other > priority for other in gained):
            yield Violation(
                "policy", uid, f"evicted, but nothing above priority {priority} gains"
            )
            continue
        if demanding(case.class_of(uid)):
            # Where it fits depends on which pods come, and in which order.
            continue
        for node in spare.nodes_for(uid):

            def staying(place: str, priority: int = priority) -> list[str]:
                return [
                    other
                    for other in on_nodes[place]
                    if _stays(case, other, priority, disruptable)
                ]

            if not conflicts.refuses(uid, node, staying):
                yield Violation(
                    "policy", uid, f"evicted for its own kind: it fits on {node}"
                )
                break


def _stays(case: Case, uid: str, priority: int, disruptable: Set[str]) -> bool:
    """Return whether the pod need not make way for one of ``priority``."""
    own, runs = case.priority(uid), bool(case.before[uid])
    return (
        own > priority
        or (own == priority and runs)
        or (runs and uid not in disruptable)
    )
