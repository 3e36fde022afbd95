"""A plan as steps: each places pods and makes the moves that they need, few first.

Tiers come in their order. In a tier the pod with the fewest moves is next; pods that
fit into the room left then come along without moves. A step never disrupts a pod of a
higher priority than it places.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from stowage_optimizer.assignments.builder import DEVICES, NodeLoads
from stowage_optimizer.model.packing import Assignment, Packing, as_nodes
from stowage_optimizer.model.problem import NOWHERE


class Partial:
    """A part of a plan: the changes made so far, each of which can be taken back.

    Any part that makes room before it fills it is feasible: once all leaving pods have
    left a node, the coming pods fit, however few of them came.
    """

    def __init__(self, packing: Packing, wanted: Assignment) -> None:
        self._packing = packing
        self._wanted = wanted
        self._node_of: list[int | None] = list(packing.current)
        self._loads = NodeLoads(packing)
        # Pods that leave a node and are still there.
        self._leaving: list[dict[int, None]] = [{} for _ in packing.room]
        self._made: list[int] = []
        for index, home in enumerate(packing.current):
            if home is not None:
                self._loads.add(index, home)
                if wanted[index] != home:
                    self._leaving[home][index] = None

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
            while (dimension := self._loads.overfull(node)) is not None:
                leaver = self._leaver(node, dimension)
                if leaver is None:
                    break  # with more devices free than others need, first fit may still go wrong
                crowded += self._make(leaver)

    def fits(self, item: int) -> bool:
        """Return whether the change of ``item`` alone can be made now."""
        node = self._wanted[item]
        return node is None or self._loads.leave_room_for(item, node)

    def take_back(self, since: int) -> None:
        """Undo every change after the first ``since``."""
        while len(self._made) > since:
            item = self._made.pop()
            home = self._packing.current[item]
            node = self._node_of[item]
            if node is not None:
                self._loads.add(item, node, -1)
            self._node_of[item] = home
            if home is not None:
                self._loads.add(item, home)
                self._leaving[home][item] = None

    def _make(self, item: int) -> list[int]:
        """Make one change and return the node that may be too full by it."""
        home, node = self._packing.current[item], self._wanted[item]
        if home is not None:
            self._loads.add(item, home, -1)
            del self._leaving[home][item]
        self._node_of[item] = node
        self._made.append(item)
        if node is None:
            return []
        self._loads.add(item, node)
        return [node]

    def _leaver(self, node: int, dimension: int) -> int | None:
        """Return the best pod to leave, which is not evicted, fits elsewhere, and is large; None if all have left."""
        kind_of = self._packing.kind_of

        def amount(item: int) -> int:
            kind = kind_of[item]
            return len(kind.requests) if dimension == DEVICES else kind.demand[dimension]

        return min(
            (item for item in self._leaving[node] if amount(item)),
            key=lambda item: (self._wanted[item] is None, not self.fits(item), -amount(item), item),
            default=None,
        )


@dataclass(frozen=True, slots=True)
class Step:
    """Changes that belong together.

    Parameters
    ----------
    placed, moved, evicted
        Items that get a node, that change it, and that lose it.
    gain
        What those count that get a node, less what those count that lose it.
    """

    placed: tuple[int, ...]
    moved: tuple[int, ...]
    evicted: tuple[int, ...]
    gain: int


class Steps:
    """Goes through the steps of a plan.

    Parameters
    ----------
    allowed
        Returns whether a step may be made after those before it.
    """

    def __init__(
        self,
        packing: Packing,
        wanted: Assignment,
        allowed: Callable[[Step], bool] = lambda _step: True,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self.partial = Partial(packing, wanted)
        self._packing = packing
        self._wanted = wanted
        self._allowed = allowed
        self._stop = stop
        self._bound_for: dict[int | None, list[int]] = {}
        for index, home in enumerate(packing.current):
            if home is None and wanted[index] is not None:
                self._bound_for.setdefault(wanted[index], []).append(index)

    def __iter__(self) -> Iterator[Step]:
        """Make and yield one step after the other."""
        for tier in self._packing.tiers:
            yield from self._tier(tier)

    def whole(self) -> Step:
        """Return every change of the plan as one step, without making it."""
        changed = as_nodes(self._wanted) != self._packing.home
        return self._step(tuple(np.flatnonzero(changed).tolist()))

    def _tier(self, tier: int) -> Iterator[Step]:
        waiting = {
            index: None
            for index in np.flatnonzero(self._packing.home == NOWHERE).tolist()
            if self._packing.kind_of[index].priority == tier and self._wanted[index] is not None
        }
        queue = [(0, 0, item) for item in waiting]
        heapify(queue)
        while queue and not self._stop():
            known, _, item = heappop(queue)
            if item not in waiting:
                continue
            before = self.partial.made
            step = self._try(item, tier, waiting)
            cost = 0 if step is None else len(step.moved) + len(step.evicted)
            # What it takes was computed some steps ago; if it is more now, others
            # may be cheaper.
            if step is not None and cost > known and queue and cost > queue[0][0]:
                self.partial.take_back(before)
                heappush(queue, (cost, -step.gain, item))
            elif step is None or not self._allowed(step):
                self.partial.take_back(before)
                del waiting[item]
            else:
                for placed in step.placed:
                    del waiting[placed]
                yield step

    def _try(self, item: int, tier: int, waiting: dict[int, None]) -> Step | None:
        """Make the changes that ``item`` needs; None if it may not have them."""
        before = self.partial.made
        self.partial.bring(item)
        changed = self.partial.changed(before)
        packing = self._packing
        if any(packing.kind_of[one].priority > tier for one in changed):
            return None
        nodes = [packing.current[one] for one in changed] + [self._wanted[item]]
        for node in dict.fromkeys(nodes):
            for other in self._bound_for.get(node, ()):
                alongside = other in waiting and other != item
                if alongside and self.partial.fits(other):
                    self.partial.bring(other)
        return self._step(self.partial.changed(before))

    def _step(self, changed: tuple[int, ...]) -> Step:
        current = self._packing.current
        placed = tuple(one for one in changed if current[one] is None)
        running = [one for one in changed if current[one] is not None]
        moved = tuple(one for one in running if self._wanted[one] is not None)
        evicted = tuple(one for one in running if self._wanted[one] is None)
        return Step(placed, moved, evicted, gain=self._worth(placed) - self._worth(evicted))

    def _worth(self, items: tuple[int, ...]) -> int:
        return sum(self._packing.kind_of[one].worth for one in items)
