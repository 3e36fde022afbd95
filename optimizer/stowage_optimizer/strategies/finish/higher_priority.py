"""The room left beside the higher-priority pods, which need not make way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stowage_optimizer.model.packing import Assignment, Packing

Ints = NDArray[np.int64]


class HigherPriorityPods:
    """Pods above a priority, and those that run at it.

    Parameters
    ----------
    packing, assignment
        The problem, and where all pods are.
    priority
        The priority.
    """

    def __init__(self, packing: Packing, assignment: Assignment, priority: int) -> None:
        self._packing = packing
        room = np.array(packing.room, np.int64)
        used, newcomers = np.zeros_like(room), np.zeros_like(room)
        for index, node in enumerate(assignment):
            item = packing.items[index]
            stays = item.priority == priority and item.home is not None
            if node is None or not (item.priority > priority or stays):
                continue
            used[node] += item.demand
            if node != item.home:
                newcomers[node] += np.array(item.demand) > 0
        self._left = room - used
        self._newcomers = newcomers

    def leave_room_for(self, index: int) -> bool:
        """Return whether the item ``index`` fits anywhere beside them."""
        item = self._packing.items[index]
        demand = np.array(item.demand, np.int64)
        asked = np.flatnonzero(demand)
        nodes = np.array([n for n in item.eligible if n != item.home], np.intp)
        roomy = self._left[np.ix_(nodes, asked)] >= demand[asked]
        if bool(roomy.all(axis=1).any()):
            return True
        if item.home is None:
            return False
        # At home it may stay even on an overcommitted node, if no pod came.
        fits = self._left[item.home, asked] >= demand[asked]
        return bool((fits | (self._newcomers[item.home, asked] == 0)).all())
