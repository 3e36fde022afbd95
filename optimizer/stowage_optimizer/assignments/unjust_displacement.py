"""Unjust displacement: evictions that the strict policy forbids."""

from collections.abc import Iterator

import numpy as np

from stowage_optimizer.assignments.builder import AssignmentBuilder
from stowage_optimizer.model.packing import Assignment, Packing, as_nodes
from stowage_optimizer.model.problem import NOWHERE


def unjustly_displaced(packing: Packing, assignment: Assignment) -> Iterator[int]:
    """Yield the items displaced that could stay beside the higher-priority pods.

    Pods of its own priority that were running count among these.
    """
    higher: dict[int, _HigherPriorityPods] = {}
    evicted = (packing.home != NOWHERE) & (as_nodes(assignment) == NOWHERE)
    for index in np.flatnonzero(evicted).tolist():
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
        self._builder = None if packing.divisible else AssignmentBuilder(packing)
        room = np.array(packing.room, np.int64)
        used, newcomers = np.zeros_like(room), np.zeros_like(room)
        # Of the pods of a budget not all may go.
        protected = {index for tie in packing.ties for index in tie.protected}
        for index, node in enumerate(assignment):
            item, home = packing.kind_of[index], packing.current[index]
            stays = home is not None and (item.priority == priority or (index in protected and node == home))
            if node is None or not (item.priority > priority or stays):
                continue
            if self._builder is not None:
                self._builder.put(index, node)
            used[node] += item.demand
            if node != home:
                newcomers[node] += np.array(item.demand) > 0
        self._left = room - used
        self._newcomers = newcomers

    def leave_room_for(self, index: int) -> bool:
        """Return whether the item ``index`` fits anywhere beside them."""
        item, home = self._packing.kind_of[index], self._packing.current[index]
        if self._builder is not None:
            builder = self._builder
            return any(
                builder.fits(index, node) and (node == home or builder.ties_allow(index, node))
                for node in item.eligible
            )
        # The same without relations, for all nodes at once.
        demand = np.array(item.demand, np.int64)
        asked = np.flatnonzero(demand)
        nodes = np.array([n for n in item.eligible if n != home], np.intp)
        roomy = self._left[np.ix_(nodes, asked)] >= demand[asked]
        if bool(roomy.all(axis=1).any()):
            return True
        # At home it may stay even on an overcommitted node, if no pod came.
        fits = self._left[home, asked] >= demand[asked]
        return bool((fits | (self._newcomers[home, asked] == 0)).all())
