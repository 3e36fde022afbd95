"""Nodes on which an evicted pod would have found room, for all nodes at once.

The rule compares every evicted pod with every node. Counting each node's pods anew
for each of them took minutes on 5,000 nodes, so free amounts are kept by priority,
one list a resource. (No arrays: the serving process does without their library.)
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.case import Case, amounts
from stowage_optimizer.verify.eligibility import turned_away


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
    """The room that is left beside the pods that need not make way.

    Parameters
    ----------
    case
        The case.
    disruptable
        Running pods that a plan may move or evict.
    """

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
        self._roomy: dict[str, list[str]] = {}
        self._closed: dict[tuple[bytes, str], bool] = {}

    def nodes_for(self, uid: str) -> Iterator[str]:
        """Yield the nodes that the evicted pod fits on and may come to, home first."""
        home, class_id = self._case.before[uid], self._case.class_of(uid).id
        if self._fits_at_home(uid):
            yield home
        if class_id not in self._roomy:
            self._roomy[class_id] = self._with_room(uid)
        for name in self._roomy[class_id]:
            if name != home and not self._turns_away(uid, name):
                yield name

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
            if not where or not self._stays(uid, priority):
                continue
            node, comes = self._index[where], case.before[uid] != where
            for name, amount in case.asked_for(uid):
                free[name][node] -= amount
                if comes:
                    asked[name].add(node)
        return _FreeRoom(free, asked)

    def _stays(self, uid: str, priority: int) -> bool:
        """Return whether the pod need not make way for one of ``priority``."""
        own, runs = self._case.priority(uid), bool(self._case.before[uid])
        return (
            own > priority
            or (own == priority and runs)
            or (runs and uid not in self._disruptable)
        )

    def _turns_away(self, uid: str, node: str) -> bool:
        wanted = self._case.class_of(uid)
        if (wanted.id, node) in self._case.forbidden:
            return True
        key = (_node_requirements(wanted), node)
        if key not in self._closed:
            self._closed[key] = bool(turned_away(self._case, uid, node))
        return self._closed[key]


def _node_requirements(wanted: pb.PodClass) -> bytes:
    """Return what of a class decides which nodes refuse it."""
    return pb.PodClass(
        node_name=wanted.node_name,
        node_selector=wanted.node_selector,
        required_node_affinity=wanted.required_node_affinity,
        tolerations=wanted.tolerations,
        volume_node_affinity=wanted.volume_node_affinity,
    ).SerializeToString(deterministic=True)
