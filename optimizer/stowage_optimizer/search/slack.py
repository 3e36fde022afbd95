"""Leaving out dimensions that can never be short, since another one is short before.

A node for 110 pods holds at most forty of those that ask for a fortieth of its CPU or
more. What need not be looked at makes bounds several times faster.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stowage_optimizer.search.problem import Ints, Problem

MOST_GROUPS = 64
"""Kinds of nodes that are looked at; where there are more, all dimensions stay."""


def without_slack(problem: Problem) -> Problem:
    """Return the same problem with fewer dimensions where that changes no answer."""
    _, first = np.unique(problem.group, return_index=True)
    rooms = problem.room[first]
    if len(rooms) > MOST_GROUPS or not len(problem.demand) or (rooms < 0).any():
        return problem
    kept = list(range(rooms.shape[1]))
    for dimension in range(rooms.shape[1] - 1, -1, -1):
        others = [other for other in kept if other != dimension]
        if any(_implies(problem.demand, rooms, one, dimension) for one in others):
            kept = others
    return replace(problem, demand=problem.demand[:, kept], room=problem.room[:, kept])


def _implies(demand: Ints, rooms: Ints, one: int, other: int) -> bool:
    """Return whether whatever fits in dimension ``one`` fits in ``other`` too.

    So it is if every pod takes at most as large a share of ``other`` as of ``one``.
    Python's integers: the products may be larger than a machine's.
    """
    first, second = demand[:, one].tolist(), demand[:, other].tolist()
    return all(
        room[one] > 0 and b * room[one] <= a * room[other]
        for room in rooms.tolist()
        for a, b in zip(first, second, strict=True)
    )
