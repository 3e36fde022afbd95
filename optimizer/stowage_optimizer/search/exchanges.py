"""Places for waiting pods by few moves, where devices are short: ejection chains and exchanges.

A waiting pod comes to a node, and none, one or two of the pods there leave, or all that have some of its devices. Each
of them goes where there is room, or where one more pod leaves for it, or it changes places with a pod that then fits in
its stead. What is tried is led by tables over kinds of pods; all is done on the real state, and undone if some pod
finds no place. Nobody moves for a pod of a lower tier, and nobody is left without a node.
"""

from collections.abc import Iterator

import numpy as np

from stowage_optimizer.model.problem import NOWHERE, Indices
from stowage_optimizer.search.compiling import compiled, inlined
from stowage_optimizer.search.device_state import ASK, COUNTS, DEVICE, LAYOUT, OF_LAYOUT, SIZE, SearchBins
from stowage_optimizer.search.exchange_state import (
    ATTEMPTS,
    DEPTH,
    ITEM,
    LEAVING,
    LENGTH,
    MEMBERS,
    MOST_EASIER,
    MOVES,
    NEVER,
    ORIGIN,
    Exchange,
    device_of,
    has_twin,
    make_exchange,
    number_of_devices,
    put_on,
    take_off,
    undo,
    unlock,
    would_fit,
)
from stowage_optimizer.search.leaving import least_moves, leave, may_leave
from stowage_optimizer.search.placement import has_room, may_come
from stowage_optimizer.search.search_arrays import SearchArrays
from stowage_optimizer.search.state import AFTER, FIRST, HOME, NODE, TIER, State, below

RATES = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 10.0)
"""Moves for as much as waiting pods are worth on average: the cheapest come first."""

REFRESH = 8
"""Pods placed after which the tables are made anew."""

MOST_FAILED = 2
"""Rounds over all nodes at one rate in which nobody is placed."""

MOST_CLEARED = 30
"""Pods that leave a node for one."""


def exchange(arrays: SearchArrays, state: State, bins: SearchBins, most_moves: int | None) -> Iterator[int]:
    """Place waiting pods in ``state`` one by one; yield after some attempts how many they were.

    The state is whole whenever it yields.

    Parameters
    ----------
    most_moves
        Running pods that may be away from home at the end; None for any number.
    """
    waiting = _by_kind(arrays, state)
    made = make_exchange([ones[0] for ones in waiting.values()], arrays, state, bins)
    most = NEVER if most_moves is None else most_moves
    worth_of = {kind: int(arrays.worth[ones[0]]) for kind, ones in waiting.items()}
    unit = float(np.mean([worth_of[kind] for kind, ones in waiting.items() for _ in ones] or [1]))
    nodes = np.arange(len(arrays.room), dtype=np.int32)
    generator, placed, due = np.random.default_rng(0), 0, 0
    limits = dict.fromkeys(waiting, -1)
    for rate in RATES:
        for kind in waiting:
            allowed = int(rate * worth_of[kind] / unit + 1e-9)
            if allowed != limits[kind]:
                limits[kind], made.failed[kind] = allowed, NOWHERE
        failures, since = 0, 0
        while failures <= MOST_FAILED:
            generator.shuffle(nodes)
            placed, due = 0, due - placed
            for kind, ones in waiting.items():
                while ones:
                    if due <= placed:
                        _tables(made, arrays, state, bins)
                        due = placed + REFRESH
                    before = int(made.status[ATTEMPTS])
                    came = _place(ones[-1], limits[kind], most, nodes, made, arrays, state, bins)
                    yield int(made.status[ATTEMPTS]) - before
                    if not came:
                        break
                    ones.pop()
                    placed += 1
            since += placed
            if placed > 0:
                continue
            if since == 0:
                break
            # Nobody comes to what has changed: all nodes once more, since others have places elsewhere now.
            failures, since, due = failures + 1, 0, 0
            made.failed[:] = NOWHERE


def _by_kind(arrays: SearchArrays, state: State) -> dict[int, list[int]]:
    """Return the waiting pods by kind: the highest tier first, then what is worth most, then what asks for least."""
    waiting = np.flatnonzero(state.items[:, NODE] == NOWHERE)
    order = np.lexsort((arrays.sizes[waiting, 1], -arrays.worth[waiting], arrays.tier[waiting]))
    found: dict[int, list[int]] = {}
    for item in waiting[order].tolist():
        found.setdefault(int(arrays.kind[item]), []).append(item)
    return found


@compiled
def _tables(made: Exchange, arrays: SearchArrays, state: State, bins: SearchBins) -> None:
    """Fill in what leads the attempts."""
    kinds, nodes = len(made.example), len(state.nodes)
    for kind in range(kinds):
        item = made.example[kind]
        made.cost[0, kind] = NEVER
        for other in range(kinds):
            made.swap[kind, other] = -1
        if item < 0:
            continue
        start = below(state.rng, nodes)
        for step in range(nodes):
            at = (start + step) % nodes
            if not may_come(item, at, state.items, arrays.allowed):
                continue
            if made.cost[0, kind] > 0 and has_room(item, at, arrays.width, arrays.demand, state.free, bins):
                made.cost[0, kind] = 0
            other = state.nodes[at, FIRST]
            while other >= 0:
                of = arrays.kind[other]
                # Any will do; another one each time.
                if of != kind and made.swap[kind, of] < 0 and would_fit(item, at, other, arrays, state, bins):
                    made.swap[kind, of] = other
                other = state.items[other, AFTER]
    for depth in range(1, DEPTH + 1):
        for kind in range(kinds):
            least = made.cost[depth - 1, kind]
            for other in range(kinds):
                if made.swap[kind, other] >= 0:
                    least = min(least, made.cost[depth - 1, other] + 1)
            made.cost[depth, kind] = least


@compiled
def _place(
    item: int, allowed: int, most: int, order: Indices, made: Exchange, arrays: SearchArrays, state: State,
    bins: SearchBins,
) -> bool:  # fmt: skip
    """Place ``item`` with at most ``allowed`` more moves, and ``most`` in all; return whether it has a node."""
    kind = arrays.kind[item]
    budget = min(most, made.status[MOVES] + allowed)
    for step in range(len(order)):
        at = order[step]
        hopeless = made.failed[kind, at] == made.version[at]
        for index in range(MOST_EASIER):
            easier = made.easier[kind, index]
            hopeless |= easier >= 0 and made.failed[easier, at] == made.version[at]
        if hopeless or not may_come(item, at, state.items, arrays.allowed):
            continue
        made.status[ATTEMPTS] += 1
        made.status[LENGTH] = 0
        came = _come_for_few(item, at, budget, made, arrays, state, bins)
        if not came and allowed > 1:
            came = _come_for_devices(item, at, budget, made, arrays, state, bins)
        if came:
            for index in range(made.status[LENGTH]):
                if made.journal[index, ORIGIN] >= 0:
                    made.version[made.journal[index, ORIGIN]] += 1
                made.version[state.items[made.journal[index, ITEM], NODE]] += 1
                return True
        made.failed[kind, at] = made.version[at]
    return False


@inlined
def _come_for_few(
    item: int, at: int, budget: int, made: Exchange, arrays: SearchArrays, state: State, bins: SearchBins
) -> bool:
    """Put ``item`` on ``at``, from where none, one or two pods leave."""
    if has_room(item, at, arrays.width, arrays.demand, state.free, bins):
        put_on(item, at, made, arrays, state, bins)
        unlock(made)
        return True
    if made.status[MOVES] >= budget:
        return False
    tier, number, other = state.items[item, TIER], 0, state.nodes[at, FIRST]
    while other >= 0:
        if state.items[other, TIER] >= tier and arrays.kind[other] != arrays.kind[item]:
            made.scratch[MEMBERS, number] = other
            number += 1
        other = state.items[other, AFTER]
    for first in range(number):
        one = made.scratch[MEMBERS, first]
        if made.status[MOVES] + least_moves(one, at, made, arrays, state) > budget:
            continue
        if has_twin(first, 0, made, arrays, state, bins) or not would_fit(item, at, one, arrays, state, bins):
            continue
        take_off(one, made, arrays, state, bins)
        put_on(item, at, made, arrays, state, bins)
        if may_leave(one, at, made, arrays, state, bins) and leave(one, at, tier, budget, made, arrays, state, bins):
            unlock(made)
            return True
        undo(0, made, arrays, state, bins)
    if made.status[MOVES] + 1 >= budget:
        return False
    for first in range(number):
        one = made.scratch[MEMBERS, first]
        if made.status[MOVES] + least_moves(one, at, made, arrays, state) >= budget:
            continue
        if has_twin(first, 0, made, arrays, state, bins) or would_fit(item, at, one, arrays, state, bins):
            continue
        rest = budget - made.status[MOVES] - least_moves(one, at, made, arrays, state)
        take_off(one, made, arrays, state, bins)
        for second in range(first + 1, number):
            other = made.scratch[MEMBERS, second]
            if least_moves(other, at, made, arrays, state) > rest or has_twin(
                second, first + 1, made, arrays, state, bins
            ):
                continue
            if not would_fit(item, at, other, arrays, state, bins):
                continue
            take_off(other, made, arrays, state, bins)
            put_on(item, at, made, arrays, state, bins)
            if may_leave(one, at, made, arrays, state, bins) and may_leave(other, at, made, arrays, state, bins):
                larger, smaller = one, other
                if bins.kinds[arrays.kind[one], SIZE] < bins.kinds[arrays.kind[other], SIZE]:
                    larger, smaller = other, one
                if leave(larger, at, tier, budget, made, arrays, state, bins) and leave(
                    smaller, at, tier, budget, made, arrays, state, bins
                ):
                    unlock(made)
                    return True
            undo(1, made, arrays, state, bins)
        undo(0, made, arrays, state, bins)
    return False


@inlined
def _come_for_devices(
    item: int, at: int, budget: int, made: Exchange, arrays: SearchArrays, state: State, bins: SearchBins
) -> bool:
    """Put ``item`` on ``at``, from where all leave that have its devices, which are those that cost least."""
    kind, layout, tier = arrays.kind[item], bins.nodes[at, LAYOUT], state.items[item, TIER]
    # Several requests, or alternatives, are left to single pods that leave.
    if layout < 0 or bins.kinds[kind + 1, ASK] - bins.kinds[kind, ASK] != 1:
        return False
    choice = bins.wish[bins.kinds[kind, ASK], 0]
    if bins.wish[bins.kinds[kind, ASK], 1] != choice + 1 or bins.start[COUNTS, choice] <= 1:
        return False
    for device in range(len(made.price)):
        made.price[device] = 0
    other = state.nodes[at, FIRST]
    while other >= 0:
        price = NEVER
        if state.items[other, TIER] >= tier and arrays.kind[other] != kind:
            price = made.cost[DEPTH, arrays.kind[other]] + np.int64(state.items[other, HOME] == at)
        for number in range(number_of_devices(other, bins)):
            made.price[device_of(other, number, bins)] += price
        other = state.items[other, AFTER]
    total = np.int64(0)
    for _ in range(bins.start[COUNTS, choice]):
        best = -1
        for option in range(bins.start[OF_LAYOUT + layout, choice], bins.start[OF_LAYOUT + layout, choice + 1]):
            device = bins.option[option, DEVICE]
            if made.price[device] >= 0 and (best < 0 or made.price[device] < made.price[best]):
                best = device
        if best < 0:
            return False
        total += made.price[best]
        made.price[best] = -1
    if total >= NEVER or made.status[MOVES] + total > budget:
        return False
    leaving, other = 0, state.nodes[at, FIRST]
    while other >= 0:
        following, leaves = state.items[other, AFTER], False
        for number in range(number_of_devices(other, bins)):
            leaves |= made.price[device_of(other, number, bins)] < 0
        if leaves:
            if leaving == MOST_CLEARED:
                undo(0, made, arrays, state, bins)
                return False
            made.scratch[LEAVING, leaving] = other
            leaving += 1
            take_off(other, made, arrays, state, bins)
        other = following
    if not has_room(item, at, arrays.width, arrays.demand, state.free, bins):
        undo(0, made, arrays, state, bins)
        return False
    put_on(item, at, made, arrays, state, bins)
    for index in range(leaving):
        largest = index
        for later in range(index + 1, leaving):
            one, best = made.scratch[LEAVING, later], made.scratch[LEAVING, largest]
            if bins.kinds[arrays.kind[one], SIZE] > bins.kinds[arrays.kind[best], SIZE]:
                largest = later
        one = made.scratch[LEAVING, largest]
        made.scratch[LEAVING, largest] = made.scratch[LEAVING, index]
        if not leave(one, at, tier, budget, made, arrays, state, bins):
            undo(0, made, arrays, state, bins)
            return False
    unlock(made)
    return True
