"""Placing waiting pods one by one, each on the first node that has room and devices for it."""

import numpy as np

from stowage_optimizer.model.problem import Flags, Indices, Ints, Problem
from stowage_optimizer.search.compiling import compiled, inlined
from stowage_optimizer.search.device_choice import give_back
from stowage_optimizer.search.device_nodes import comes_in, give_to_all, shut_without_order
from stowage_optimizer.search.device_order import arrange, list_members, part
from stowage_optimizer.search.device_state import SearchBins, make_bins


def first_fit(problem: Problem, waiting: Indices, node: Indices) -> Indices:
    """Return ``node`` with those who wait placed where there is room beside the others.

    Parameters
    ----------
    problem
        Some of its pods ask for devices: where pods come, an order is known in which they can.
    waiting
        The items to place, in this order.
    node
        Node by item, shape ``(items,)``.
    """
    bins, filled = make_bins(problem), node.copy()
    if bins is None:
        raise ValueError("no pod asks for devices: look at amounts alone")
    left, there = problem.room.copy(), np.flatnonzero(node >= 0)
    np.subtract.at(left, node[there], problem.demand[problem.kind[there]])
    if give_to_all(node, bins):
        shut_without_order(bins)
    first = np.zeros(len(problem.demand), np.int32)
    _place(waiting, filled, first, problem.kind, problem.demand, problem.mask, problem.allowed, left, bins)
    return filled


@compiled
def _place(
    waiting: Indices, node: Indices, first: Indices, kind: Indices, demand: Ints,
    mask: Indices, allowed: Flags, left: Ints, bins: SearchBins,
) -> None:  # fmt: skip
    for index in range(len(waiting)):
        item = waiting[index]
        own = kind[item]
        at = first[own]
        while at < len(left) and not (allowed[mask[own], at] and _comes(item, own, at, demand, left, bins)):
            at += 1
        # Room only gets scarcer: nodes that one passed by are full for all of its kind.
        first[own] = at
        if at < len(left):
            node[item] = at
            for dimension in range(demand.shape[1]):
                left[at, dimension] -= demand[own, dimension]


@inlined
def _comes(item: int, kind: int, at: int, demand: Ints, left: Ints, bins: SearchBins) -> bool:
    """Return whether there is room for ``item`` on ``at``; then it has its devices, and an order is known."""
    for dimension in range(demand.shape[1]):
        if demand[kind, dimension] > 0 and left[at, dimension] < demand[kind, dimension]:
            return False
    if not comes_in(item, at, bins):
        return False
    if arrange(at, list_members(at, bins), bins) >= 0:
        return True
    give_back(item, at, bins)
    part(item, at, bins)
    return False
