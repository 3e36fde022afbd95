"""A first plan for many pods: each waiting pod takes the place of a few others.

Where there are tens of thousands of pods the local search finds room by moving many
pods and returns the needless moves later; until then its plans have ten times as many
moves as necessary. Here each waiting pod, the largest first, looks at some nodes: what
must go from there to other nodes that it fits? No pod moves twice, none is displaced,
and none moves for a pod of a lower tier.
"""

import numpy as np

from stowage_optimizer.model.problem import NOWHERE, Flags, Indices, Ints
from stowage_optimizer.search.compiling import compiled, inlined
from stowage_optimizer.search.placement import enter, has_room, may_come, nothing_frozen, put, take
from stowage_optimizer.search.search_arrays import Floats, SearchArrays, Width
from stowage_optimizer.search.state import AFTER, FIRST, HOME, MASK, NODE, TIER, State

MOST_CLEARED = (1, 16)
"""Pods that one may have moved away: all that one is enough for go first."""

ENOUGH = 32
"""Nodes that can be cleared, of which the one with the least to move is taken."""

MOST_VISITS = 100_000
"""Nodes that all waiting pods together look at: a few tenths of a second."""


def clear_room(assignment: Indices, arrays: SearchArrays, state: State) -> Indices:
    """Return ``assignment`` with more pods placed; ``state`` is used up.

    Parameters
    ----------
    assignment
        Node by item, shape ``(items,)``; whole.
    """
    tiers = int(arrays.tier.max(initial=0))
    enter(assignment, tiers, nothing_frozen(arrays), arrays, state)
    waiting = np.flatnonzero(assignment == NOWHERE).astype(np.int32)
    size = arrays.sizes[waiting, 0]
    waiting = waiting[np.lexsort((-size, arrays.tier[waiting]))]
    kinds = int(arrays.kind.max(initial=0)) + 1
    visits = MOST_VISITS
    for most in MOST_CLEARED:
        visits -= _clear_for_all(
            waiting, most, visits, arrays.width, arrays.demand, arrays.sizes,
            arrays.inverse, arrays.allowed, arrays.kind, state.free, state.items,
            state.nodes, np.zeros(most, np.int32), np.zeros(kinds, np.int32),
            np.zeros(kinds, np.bool_), np.zeros(kinds, np.bool_),
        )  # fmt: skip
    found: Indices = state.items[:, NODE].copy()
    return found


@compiled
def _clear_for_all(
    waiting: Indices, most: int, visits: int, width: Width, demand: Ints,
    sizes: Floats, inverse: Floats, allowed: Flags, kind: Indices, free: Ints,
    items: Indices, nodes: Indices, cleared: Indices, hint: Indices, confined: Flags,
    unplaceable: Flags,
) -> int:  # fmt: skip
    """Place waiting pods, and return how many nodes were looked at.

    Parameters
    ----------
    cleared
        Scratch for the pods that make way for one, shape ``(most,)``.
    hint, confined, unplaceable
        By kind, where the last one went, whether none can go elsewhere, and whether
        one that waits cannot come anywhere either.
    """
    visited, begin = 0, 0
    for index in range(len(waiting)):
        item = waiting[index]
        if items[item, NODE] >= 0 or unplaceable[kind[item]]:
            continue
        best, least, found = -1, 1e18, 0
        for step in range(len(free)):
            at = (begin + step) % len(free)
            if visited >= visits or found >= ENOUGH:
                break
            if not may_come(item, at, items, allowed):
                continue
            visited += 1
            cost = _clear(
                item, at, most, False, width, demand, sizes, inverse, allowed, kind,
                free, items, nodes, cleared, hint, confined,
            )  # fmt: skip
            if cost < 0:
                continue
            found += 1
            if cost < least:
                best, least = at, cost
        if visited >= visits:
            break
        if best < 0 or _clear(
            item, best, most, True, width, demand, sizes, inverse, allowed, kind, free,
            items, nodes, cleared, hint, confined,
        ) < 0:  # fmt: skip
            # What others do only takes room from the next one of its kind.
            unplaceable[kind[item]] = True
            continue
        put(item, best, width, demand, free, items, nodes, None)
        begin = best + 1
    return visited


@inlined
def _clear(
    item: int, at: int, most: int, keep: bool, width: Width, demand: Ints,
    sizes: Floats, inverse: Floats, allowed: Flags, kind: Indices, free: Ints,
    items: Indices, nodes: Indices, cleared: Indices, hint: Indices, confined: Flags,
) -> float:  # fmt: skip
    """Move from ``at`` what is in the way of ``item``, and back unless ``keep``.

    Returns
    -------
    float
        Moves, and for equally many the size of what moves; -1 if it is too much.
    """
    cost, taken = 0.0, 0
    while cost >= 0 and not has_room(item, at, width, demand, free, None):
        other = -1
        if taken < most:
            other = _in_the_way(
                item, at, width, demand, sizes, inverse, allowed, kind, free, items,
                nodes, hint, confined,
            )  # fmt: skip
        if other < 0:
            cost = -1.0
            continue
        take(other, width, demand, free, items, nodes, None)
        put(other, hint[kind[other]], width, demand, free, items, nodes, None)
        cleared[taken] = other
        taken += 1
        cost += 1.0 + sizes[other, 0] / (1.0 + sizes[other, 0])
    if not keep or cost < 0:
        for index in range(taken):
            other = cleared[taken - 1 - index]
            take(other, width, demand, free, items, nodes, None)
            put(other, at, width, demand, free, items, nodes, None)
    return cost


@inlined
def _in_the_way(
    item: int, at: int, width: Width, demand: Ints, sizes: Floats, inverse: Floats,
    allowed: Flags, kind: Indices, free: Ints, items: Indices, nodes: Indices,
    hint: Indices, confined: Flags,
) -> int:  # fmt: skip
    """Return the best pod to move from ``at``, its target being its hint; -1 for none.

    That is the smallest which makes room enough alone, or else the one which helps
    most.
    """
    best, enough, most_help, least = -1, False, 0.0, 1e18
    other = nodes[at, FIRST]
    while other >= 0:
        candidate = other
        other = items[other, AFTER]
        if items[candidate, HOME] != at or items[candidate, TIER] < items[item, TIER]:
            continue
        help_, alone = 0.0, True
        for dimension in range(len(width)):
            amount = demand[item, dimension]
            short = amount - free[at, dimension]
            if amount > 0 and short > 0:
                freed = demand[candidate, dimension]
                alone &= freed >= short
                help_ += min(freed, short) * inverse[dimension]
        size = sizes[candidate, 0]
        better = (not enough or size < least) if alone else (not enough and help_ > most_help)
        if better and _has_place(candidate, at, width, demand, allowed, kind, free, items, hint, confined):
            best, enough, most_help, least = candidate, alone, help_, size
    return best


@inlined
def _has_place(
    item: int, at: int, width: Width, demand: Ints, allowed: Flags, kind: Indices,
    free: Ints, items: Indices, hint: Indices, confined: Flags,
) -> bool:  # fmt: skip
    """Return whether there is another node for ``item``, and make that its kind's hint.

    The node of the last one of its kind goes first, so that few nodes fill up.
    """
    own = kind[item]
    if confined[own]:
        return False
    mask = items[item, MASK]
    for step in range(len(free)):
        other = (hint[own] + step) % len(free)
        if other != at and allowed[mask, other] and has_room(item, other, width, demand, free, None):
            hint[own] = other
            return True
    confined[own] = True
    return False
