"""Building an assignment pod by pod, by the scheduler's own rule for what fits.

A pod that *comes* to a node must find room for everything it asks for. A pod that
stays need not: a node may be overcommitted already, and that must not get worse.
"""

from __future__ import annotations

from stowage_optimizer.constraints.relations import DomainCounts
from stowage_optimizer.model.packing import Assignment, Packing


class AssignmentBuilder:
    """The items placed so far and the room that they take.

    Parameters
    ----------
    packing
        The problem; its items are placed one by one with `put`.
    """

    def __init__(self, packing: Packing) -> None:
        self._packing = packing
        self._used = [[0] * len(room) for room in packing.room]
        # How many of a node's newcomers ask for something of a dimension.
        self._newcomers = [[0] * len(room) for room in packing.room]
        self._node_of: list[int | None] = [None] * len(packing.items)
        self._domain_counts = (
            None if packing.relations is None else DomainCounts(packing.relations)
        )

    @property
    def assignment(self) -> Assignment:
        """Node index of each item placed so far."""
        return tuple(self._node_of)

    def node_of(self, item: int) -> int | None:
        """Return the node of ``item``, None while it has none."""
        return self._node_of[item]

    def fits(self, item: int, node: int) -> bool:
        """Return whether ``item`` may join what is on ``node`` now.

        Of the relations between pods, anti-affinity is looked at: like room, it only
        gets scarcer with each pod. For the others see `relations_allow`.
        """
        comes = self._packing.items[item].home != node
        room, used = self._packing.room[node], self._used[node]
        newcomers = self._newcomers[node]
        return not any(
            amount
            and used[dimension] + amount > room[dimension]
            and (comes or newcomers[dimension])
            for dimension, amount in enumerate(self._packing.items[item].demand)
        ) and self._anti_affinity_allows(item, node, comes)

    def relations_allow(self, item: int, node: int) -> bool:
        """Return whether ``item`` may come to ``node`` by every relation, as of now."""
        relations = self._packing.relations
        if self._domain_counts is None or relations is None:
            return True
        return self._domain_counts.allows(relations.class_of[item], node)

    def put(self, item: int, node: int) -> None:
        """Place ``item`` on ``node``."""
        self._node_of[item] = node
        self._count(item, node, 1)

    def take(self, item: int) -> None:
        """Take ``item`` off its node."""
        node = self._node_of[item]
        if node is not None:
            self._node_of[item] = None
            self._count(item, node, -1)

    def _count(self, item: int, node: int, sign: int) -> None:
        comes = self._packing.items[item].home != node
        used, newcomers = self._used[node], self._newcomers[node]
        for dimension, amount in enumerate(self._packing.items[item].demand):
            used[dimension] += sign * amount
            if comes and amount:
                newcomers[dimension] += sign
        if self._domain_counts is not None and self._packing.relations is not None:
            change = self._domain_counts.add if sign > 0 else self._domain_counts.remove
            change(self._packing.relations.class_of[item], node, comes=comes)

    def _anti_affinity_allows(self, item: int, node: int, comes: bool) -> bool:
        relations = self._packing.relations
        if self._domain_counts is None or relations is None:
            return True
        class_id = relations.class_of[item]
        if comes:
            return self._domain_counts.anti_affinity_allows(class_id, node)
        return self._domain_counts.allows_staying(class_id, node)
