"""Unjust displacement: evictions that the strict policy forbids."""

from collections.abc import Iterator, Sequence

import numpy as np

from stowage_optimizer.assignments.builder import AssignmentBuilder
from stowage_optimizer.model.packing import Assignment, Packing, as_nodes
from stowage_optimizer.model.problem import NOWHERE


def unjustly_displaced(packing: Packing, assignment: Assignment) -> Iterator[int]:
    """Yield the items displaced that could stay beside the higher-priority pods.

    Pods of its own priority that were running count among these. Of items that are
    displaced together enough must be able to stay.
    """
    higher: dict[int, _HigherPriorityPods] = {}
    together = [one for tie in packing.ties for one in tie.leaving(packing, assignment)]
    apart = {item for one in together for item in one.items}
    for one in together:
        pods = _HigherPriorityPods(packing, assignment, packing.kind_of[one.items[0]].priority)
        if pods.leave_homes_for(one.items) >= one.needed:
            yield from one.items
    evicted = (packing.home != NOWHERE) & (as_nodes(assignment) == NOWHERE)
    for index in np.flatnonzero(evicted).tolist():
        if index in apart:
            continue
        item = packing.kind_of[index]
        if item.priority not in higher:
            higher[item.priority] = _HigherPriorityPods(packing, assignment, item.priority)
        if higher[item.priority].leave_room_for(index):
            yield index


def has_unjust_displacement(packing: Packing, assignment: Assignment) -> bool:
    """Return whether any item is displaced so."""
    return next(unjustly_displaced(packing, assignment), None) is not None


class _HigherPriorityPods:
    """Pods above a priority and those that run at it: they need not make way."""

    def __init__(self, packing: Packing, assignment: Assignment, priority: int) -> None:
        self._packing = packing
        self._builder = AssignmentBuilder(packing)
        self._open: dict[tuple[int, str], bool] = {}
        # Of the pods of a budget not all may go.
        protected = {index for tie in packing.ties for index in tie.protected}
        for index, (node, home) in enumerate(zip(assignment, packing.current, strict=True)):
            own = packing.kind_of[index].priority
            stays = home is not None and (own == priority or (index in protected and node == home))
            if node is not None and (own > priority or stays):
                self._builder.put(index, node)

    def leave_homes_for(self, items: Sequence[int]) -> int:
        """Return how many of ``items`` fit at home beside them and each other."""
        count = 0
        for index in items:
            home = self._packing.current[index]
            if home is not None and self._builder.fits(index, home):
                self._builder.put(index, home)
                count += 1
        return count

    def leave_room_for(self, index: int) -> bool:
        """Return whether the item ``index`` fits anywhere beside them."""
        packing, home = self._packing, self._packing.current[index]
        if home is not None and self._builder.fits(index, home):
            return True
        # Where one of the replicas may not come, none may.
        alike = int(packing.kind[index]), packing.class_ids[index] if packing.ties else ""
        if alike not in self._open:
            self._open[alike] = any(
                self._builder.fits(index, node) and self._builder.ties_allow(index, node)
                for node in packing.kind_of[index].eligible
            )
        return self._open[alike]
