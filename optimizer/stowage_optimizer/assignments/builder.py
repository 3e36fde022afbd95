"""Building an assignment pod by pod, by the scheduler's own rule for what fits.

A pod that *comes* to a node must find room for everything it asks for. A pod that
stays need not: a node may be overcommitted already, and that must not get worse.
"""

from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.search.device_nodes import Arranger, arranger_of

DEVICES = -1
"""Instead of a dimension: devices are short, or no order is known in which pods can come to them."""


class NodeLoads:
    """What the items on each node take; nothing to begin with."""

    def __init__(self, packing: Packing) -> None:
        self._packing = packing
        self._used = [[0] * len(room) for room in packing.room]
        # How many of a node's newcomers ask for something of a dimension.
        self._newcomers = [[0] * len(room) for room in packing.room]
        self._devices = _DeviceLoads(packing, arranger) if (arranger := arranger_of(packing.problem)) else None

    def add(self, item: int, node: int, sign: int = 1) -> None:
        """Count ``item`` on ``node``; with a ``sign`` of -1, no more."""
        comes = self._packing.current[item] != node
        used, newcomers = self._used[node], self._newcomers[node]
        for dimension, amount in enumerate(self._packing.kind_of[item].demand):
            used[dimension] += sign * amount
            if comes and amount:
                newcomers[dimension] += sign
        if self._devices is not None:
            self._devices.add(item, node, sign)

    def leave_room_for(self, item: int, node: int) -> bool:
        """Return whether ``item`` may join what is on ``node`` now."""
        comes = self._packing.current[item] != node
        room, used = self._packing.room[node], self._used[node]
        newcomers = self._newcomers[node]
        if any(
            amount and used[dimension] + amount > room[dimension] and (comes or newcomers[dimension])
            for dimension, amount in enumerate(self._packing.kind_of[item].demand)
        ):
            return False
        return self._devices is None or self._devices.suffice(node, item)

    def overfull(self, node: int) -> int | None:
        """Return a dimension of which newcomers to ``node`` ask for too much, or `DEVICES`."""
        used, newcomers = self._used[node], self._newcomers[node]
        for dimension, limit in enumerate(self._packing.room[node]):
            if used[dimension] > limit and newcomers[dimension]:
                return dimension
        return None if self._devices is None or self._devices.suffice(node) else DEVICES


class _DeviceLoads:
    """The items on each node that ask for devices."""

    def __init__(self, packing: Packing, arranger: Arranger) -> None:
        self._packing = packing
        self._arranger = arranger
        self._members: list[list[int]] = [[] for _ in packing.room]

    def add(self, item: int, node: int, sign: int) -> None:
        """Count ``item`` on ``node``; with a ``sign`` of -1, no more."""
        if not self._packing.kind_of[item].requests:
            return
        if sign > 0:
            self._members[node].append(item)
        else:
            self._members[node].remove(item)

    def suffice(self, node: int, item: int | None = None) -> bool:
        """Return whether those who come to ``node``, and ``item`` as well, can do so in some order."""
        members = self._members[node]
        if item is not None:
            if not self._packing.kind_of[item].requests:
                return True
            members = [*members, item]
        return self._arranger.fits(node, members)


class AssignmentBuilder:
    """The items placed so far and the room that they take.

    Parameters
    ----------
    packing
        The problem; its items are placed one by one with `put`.
    """

    def __init__(self, packing: Packing) -> None:
        self._loads = NodeLoads(packing)
        self._node_of: list[int | None] = [None] * len(packing.current)
        self._counts = [counts for tie in packing.ties if (counts := tie.counts(packing)) is not None]

    @property
    def assignment(self) -> Assignment:
        """Node index of each item placed so far."""
        return tuple(self._node_of)

    def node_of(self, item: int) -> int | None:
        """Return the node of ``item``, None while it has none."""
        return self._node_of[item]

    def fits(self, item: int, node: int) -> bool:
        """Return whether ``item`` may join what is on ``node`` now.

        Of what ties pods, anti-affinity is looked at: like room, it only gets scarcer
        with each pod. For the rest see `ties_allow`.
        """
        return self._loads.leave_room_for(item, node) and all(one.fits(item, node) for one in self._counts)

    def ties_allow(self, item: int, node: int) -> bool:
        """Return whether ``item`` may come to ``node`` as of now, whatever the room."""
        return all(one.allows(item, node) for one in self._counts)

    def put(self, item: int, node: int) -> None:
        """Place ``item`` on ``node``."""
        self._node_of[item] = node
        self._add(item, node, 1)

    def take(self, item: int) -> None:
        """Take ``item`` off its node."""
        node = self._node_of[item]
        if node is not None:
            self._node_of[item] = None
            self._add(item, node, -1)

    def _add(self, item: int, node: int, sign: int) -> None:
        self._loads.add(item, node, sign)
        for one in self._counts:
            one.add(item, node, sign)
