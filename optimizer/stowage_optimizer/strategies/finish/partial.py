"""A part of a plan: some of its changes are made, the rest of the cluster is as it was.

Any part that makes room before it fills it is feasible: once all leaving pods have left
a node, the coming pods fit, however few of them came.
"""

from __future__ import annotations

from stowage_optimizer.model.packing import Assignment, Packing


class Partial:
    """The changes made so far, each of which can be taken back.

    Parameters
    ----------
    packing
        The problem.
    wanted
        The whole plan's assignment.
    """

    def __init__(self, packing: Packing, wanted: Assignment) -> None:
        self._packing = packing
        self._wanted = wanted
        self._node_of: list[int | None] = list(packing.current)
        self._used = [[0] * len(room) for room in packing.room]
        self._newcomers = [[0] * len(room) for room in packing.room]
        # Pods that leave a node and are still there.
        self._leaving: list[dict[int, None]] = [{} for _ in packing.room]
        self._made: list[int] = []
        for index, item in enumerate(packing.items):
            if item.home is not None:
                self._count(index, item.home, 1)
                if wanted[index] != item.home:
                    self._leaving[item.home][index] = None

    @property
    def assignment(self) -> Assignment:
        """Node of each item."""
        return tuple(self._node_of)

    @property
    def made(self) -> int:
        """How many changes are made."""
        return len(self._made)

    def changed(self, since: int) -> tuple[int, ...]:
        """Return the items whose changes were made after the first ``since``."""
        return tuple(self._made[since:])

    def bring(self, item: int) -> None:
        """Make the change of ``item``, and those that make room for it."""
        crowded = self._make(item)
        while crowded:
            node = crowded.pop()
            while (dimension := self._too_full(node)) is not None:
                leaver = self._leaver(node, dimension)
                crowded += self._make(leaver)

    def fits(self, item: int) -> bool:
        """Return whether the change of ``item`` alone can be made now."""
        node = self._wanted[item]
        if node is None:
            return True
        demand = self._packing.items[item].demand
        room, used = self._packing.room[node], self._used[node]
        return all(
            not amount or used[dimension] + amount <= room[dimension]
            for dimension, amount in enumerate(demand)
        )

    def take_back(self, since: int) -> None:
        """Undo every change after the first ``since``."""
        while len(self._made) > since:
            item = self._made.pop()
            home = self._packing.items[item].home
            node = self._node_of[item]
            if node is not None:
                self._count(item, node, -1)
            self._node_of[item] = home
            if home is not None:
                self._count(item, home, 1)
                self._leaving[home][item] = None

    def _make(self, item: int) -> list[int]:
        """Make one change and return the node that may be too full by it."""
        home, node = self._packing.items[item].home, self._wanted[item]
        if home is not None:
            self._count(item, home, -1)
            del self._leaving[home][item]
        self._node_of[item] = node
        self._made.append(item)
        if node is None:
            return []
        self._count(item, node, 1)
        return [node]

    def _too_full(self, node: int) -> int | None:
        room, used = self._packing.room[node], self._used[node]
        newcomers = self._newcomers[node]
        for dimension, limit in enumerate(room):
            if used[dimension] > limit and newcomers[dimension]:
                return dimension
        return None

    def _leaver(self, node: int, dimension: int) -> int:
        """Return the best pod to leave: not evicted, fits elsewhere, large."""
        items = self._packing.items
        return min(
            (item for item in self._leaving[node] if items[item].demand[dimension]),
            key=lambda item: (
                self._wanted[item] is None,
                not self.fits(item),
                -items[item].demand[dimension],
                item,
            ),
        )

    def _count(self, item: int, node: int, sign: int) -> None:
        comes = self._packing.items[item].home != node
        used, newcomers = self._used[node], self._newcomers[node]
        for dimension, amount in enumerate(self._packing.items[item].demand):
            used[dimension] += sign * amount
            if comes and amount:
                newcomers[dimension] += sign
