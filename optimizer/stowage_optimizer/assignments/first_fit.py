"""Placing pending pods where there is room, large ones first."""

import numpy as np
from numpy.typing import NDArray

from stowage_optimizer.model.packing import Assignment, Packing, as_assignment, as_nodes
from stowage_optimizer.model.problem import NOWHERE
from stowage_optimizer.search.filling import first_fit

Ints = NDArray[np.int64]


def filled(packing: Packing, assignment: Assignment) -> Assignment:
    """Return ``assignment`` with every pending pod placed that fits beside it.

    Higher priorities come first; displaced pods stay displaced. Relations between pods
    are ignored.
    """
    waiting = [
        index
        for index in np.flatnonzero(packing.home == NOWHERE).tolist()
        if assignment[index] is None and packing.kind_of[index].eligible
    ]
    if not waiting:
        return assignment
    size = _sizes(packing, waiting)
    waiting.sort(key=lambda index: (-packing.kind_of[index].priority, -size[index]))
    if packing.bins is not None:
        return as_assignment(first_fit(packing.problem, np.array(waiting, np.int32), as_nodes(assignment)))
    left = _left(packing, assignment)
    placed = list(assignment)
    # Pods of one class share one tuple of nodes: its array is made once.
    nodes: dict[int, NDArray[np.intp]] = {}
    for index in waiting:
        item = packing.kind_of[index]
        if id(item.eligible) not in nodes:
            nodes[id(item.eligible)] = np.array(item.eligible, np.intp)
        eligible = nodes[id(item.eligible)]
        demand = np.array(item.demand, np.int64)
        asked = np.flatnonzero(demand)
        roomy = (left[np.ix_(eligible, asked)] >= demand[asked]).all(axis=1)
        if roomy.any():
            node = int(eligible[roomy.argmax()])
            left[node] -= demand
            placed[index] = node
    return tuple(placed)


def _left(packing: Packing, assignment: Assignment) -> Ints:
    """Return the room that is left, shape ``(nodes, dimensions)``."""
    left = np.array(packing.room, np.int64)
    there = [index for index, node in enumerate(assignment) if node is not None]
    if there:
        demand = np.array([packing.kind_of[index].demand for index in there], np.int64)
        on = np.array([assignment[index] for index in there], np.intp)
        np.subtract.at(left, on, demand)
    return left


def _sizes(packing: Packing, items: list[int]) -> dict[int, float]:
    """Return the largest share of all room that each of ``items`` asks for."""
    room = np.maximum(np.array(packing.room, np.int64), 0).sum(axis=0)
    demand = np.array([packing.kind_of[index].demand for index in items], np.float64)
    sizes = (demand / np.maximum(room, 1)).max(axis=1, initial=0.0)
    return dict(zip(items, sizes.tolist(), strict=True))
