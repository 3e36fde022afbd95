"""Putting items on nodes and taking them off, in constant time."""

import numpy as np

from stowage_optimizer.model.problem import NOWHERE, Flags, Indices, Ints
from stowage_optimizer.search.compiling import compiled, inlined
from stowage_optimizer.search.device_choice import devices_fit, give, give_back
from stowage_optimizer.search.device_nodes import give_to_all
from stowage_optimizer.search.device_state import SearchBins, clear, open_all
from stowage_optimizer.search.search_arrays import SearchArrays, Width
from stowage_optimizer.search.state import (
    AFTER,
    BEFORE,
    BEST,
    COUNT,
    DIRTY,
    FIRST,
    HOME,
    IMPROVED,
    IS_DIRTY,
    KEPT,
    MASK,
    MOVED,
    NODE,
    PLACED,
    STABILITY,
    TIER,
    WAITING,
    WAITS_AT,
    WORTH,
    State,
)


@inlined
def put(
    item: int, at: int, width: Width, demand: Ints, free: Ints, items: Indices,
    nodes: Indices, bins: SearchBins | None,
) -> None:  # fmt: skip
    """Place ``item`` on the node ``at``."""
    if bins is not None:
        give(item, at, bins)
    settle_down(item, at, width, demand, free, items, nodes)


@inlined
def settle_down(
    item: int, at: int, width: Width, demand: Ints, free: Ints, items: Indices,
    nodes: Indices,
) -> None:  # fmt: skip
    """Place ``item`` on ``at``, where it has its devices."""
    items[item, NODE] = at
    for dimension in range(len(width)):
        free[at, dimension] -= demand[item, dimension]
    head = nodes[at, FIRST]
    items[item, AFTER] = head
    items[item, BEFORE] = -1
    if head >= 0:
        items[head, BEFORE] = item
    nodes[at, FIRST] = item
    nodes[at, COUNT] += 1


@inlined
def take(
    item: int, width: Width, demand: Ints, free: Ints, items: Indices, nodes: Indices,
    bins: SearchBins | None,
) -> None:  # fmt: skip
    """Take ``item`` off its node."""
    at = items[item, NODE]
    if bins is not None:
        give_back(item, at, bins)
    items[item, NODE] = -1
    for dimension in range(len(width)):
        free[at, dimension] += demand[item, dimension]
    left, right = items[item, BEFORE], items[item, AFTER]
    if left >= 0:
        items[left, AFTER] = right
    else:
        nodes[at, FIRST] = right
    if right >= 0:
        items[right, BEFORE] = left
    nodes[at, COUNT] -= 1


@inlined
def has_room(
    item: int, at: int, width: Width, demand: Ints, free: Ints, bins: SearchBins | None
) -> bool:  # fmt: skip
    """Return whether ``at`` has room for ``item``; an amount of 0 always fits."""
    fits = True
    for dimension in range(len(width)):
        amount = demand[item, dimension]
        fits &= (amount <= free[at, dimension]) | (amount == 0)
    if bins is not None and fits:
        fits = devices_fit(item, at, bins)
    return fits


@inlined
def may_come(item: int, at: int, items: Indices, allowed: Flags) -> bool:
    """Return whether ``item`` may be on ``at`` as far as room is not concerned."""
    return bool(allowed[items[item, MASK], at] or items[item, HOME] == at)


def enter(
    assignment: Indices, tier: int, frozen: Flags, arrays: SearchArrays, state: State, bins: SearchBins | None = None
) -> None:
    """Make ``assignment`` the current and best solution of the tiers down to ``tier``.

    Parameters
    ----------
    assignment
        Node by item, shape ``(items,)``.
    frozen
        Items that stay where they are and are left out of the search.
    bins
        The devices of the problem, which are given to those who ask for them.
    """
    state.free[:] = arrays.room
    state.nodes[:] = (NOWHERE, 0, 0)
    state.items[:, NODE] = NOWHERE
    state.items[:, BEST] = assignment
    state.items[:, IS_DIRTY] = 0
    state.items[:, WAITS_AT] = NOWHERE
    state.value[:] = 0
    state.counters[:] = 0
    _enter_all(
        assignment, tier, frozen, arrays.width, arrays.demand, arrays.strict,
        state.free, state.items, state.nodes, state.lists, state.value, state.counters,
    )  # fmt: skip
    state.best_value[:] = state.value
    if bins is not None:
        open_all(bins)
        clear(bins)
        give_to_all(state.items[:, NODE], bins)


@compiled
def _enter_all(
    assignment: Indices, tier: int, frozen: Flags, width: Width, demand: Ints,
    strict: int, free: Ints, items: Indices, nodes: Indices, lists: Indices,
    value: Ints, counters: Ints,
) -> None:  # fmt: skip
    for item in range(len(assignment)):
        at = assignment[item]
        if items[item, TIER] > tier:
            continue
        _count(item, at, tier, strict, items, value)
        if at < 0:
            _wait(item, items, lists, counters)
        elif frozen[item]:
            items[item, NODE] = at
            for dimension in range(len(width)):
                free[at, dimension] -= demand[item, dimension]
        else:
            settle_down(item, at, width, demand, free, items, nodes)


@inlined
def _count(item: int, at: int, tier: int, strict: int, items: Indices, value: Ints) -> None:
    home = items[item, HOME]
    if at >= 0:
        value[PLACED] += items[item, WORTH]
        if home >= 0 and items[item, TIER] == tier:
            value[KEPT] += strict
    if home >= 0 and at != home:
        value[STABILITY] -= 2 if at >= 0 else 3


@inlined
def _wait(item: int, items: Indices, lists: Indices, counters: Ints) -> None:
    slot = counters[WAITING]
    lists[WAITING, slot] = item
    items[item, WAITS_AT] = slot
    counters[WAITING] = slot + 1


@inlined
def _wait_no_more(item: int, items: Indices, lists: Indices, counters: Ints) -> None:
    counters[WAITING] -= 1
    last = lists[WAITING, counters[WAITING]]
    slot = items[item, WAITS_AT]
    lists[WAITING, slot] = last
    items[last, WAITS_AT] = slot
    items[item, WAITS_AT] = -1


@inlined
def settle(item: int, origin: int, items: Indices, lists: Indices, counters: Ints) -> None:
    """Update the lists after ``item`` has changed its node."""
    at = items[item, NODE]
    if items[item, IS_DIRTY] == 0:
        items[item, IS_DIRTY] = 1
        lists[DIRTY, counters[DIRTY]] = item
        counters[DIRTY] += 1
    if at < 0:
        _wait(item, items, lists, counters)
    elif origin < 0:
        _wait_no_more(item, items, lists, counters)
    home, moved = items[item, HOME], counters[MOVED]
    if home >= 0 and at >= 0 and at != home and moved < len(items):
        lists[MOVED, moved] = item
        counters[MOVED] = moved + 1


@inlined
def list_moved(tier: int, items: Indices, lists: Indices, counters: Ints) -> None:
    """Rebuild the list of items that are away from home."""
    moved = 0
    for item in range(len(items)):
        home = items[item, HOME]
        if home >= 0 and items[item, TIER] <= tier and items[item, NODE] != home:
            lists[MOVED, moved] = item
            moved += 1
    counters[MOVED] = moved


@inlined
def keep_best(items: Indices, lists: Indices, counters: Ints) -> None:
    """Make the current solution the best one."""
    for index in range(counters[DIRTY]):
        item = lists[DIRTY, index]
        items[item, BEST] = items[item, NODE]
        items[item, IS_DIRTY] = 0
    counters[DIRTY] = 0
    counters[IMPROVED] += 1


def nothing_frozen(arrays: SearchArrays) -> Flags:
    """Return flags that leave every item in the search, shape ``(items,)``."""
    return np.zeros(len(arrays.home), np.bool_)
