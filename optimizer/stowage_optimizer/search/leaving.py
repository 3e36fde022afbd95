"""Where a pod goes that leaves a node for another: along a chain of pods, or to the place of one that comes instead."""

import numpy as np

from stowage_optimizer.search.compiling import inlined
from stowage_optimizer.search.device_choice import least_left
from stowage_optimizer.search.device_state import SIZE, SearchBins
from stowage_optimizer.search.exchange_state import (
    DEPTH,
    LENGTH,
    LONGEST,
    MOVES,
    NEVER,
    Exchange,
    put_on,
    take_off,
    undo,
    would_fit,
)
from stowage_optimizer.search.placement import has_room, may_come
from stowage_optimizer.search.search_arrays import SearchArrays
from stowage_optimizer.search.state import AFTER, FIRST, HOME, NODE, TIER, State


@inlined
def leave(
    item: int, at: int, tier: int, budget: int, made: Exchange, arrays: SearchArrays, state: State, bins: SearchBins
) -> bool:
    """Find another place for ``item``, which has left ``at``; what fails is undone."""
    length = made.status[LENGTH]
    if made.status[MOVES] + made.cost[DEPTH - 1, arrays.kind[item]] <= budget:
        if _follow_chain(item, tier, budget, made, arrays, state, bins):
            return True
        undo(length, made, arrays, state, bins)
    return _change_places(item, at, tier, budget, made, arrays, state, bins)


@inlined
def _follow_chain(
    item: int, tier: int, budget: int, made: Exchange, arrays: SearchArrays, state: State, bins: SearchBins
) -> bool:
    """Place ``item``, the pod that leaves for it, and so on, until there is room for one as it is."""
    depth = DEPTH
    while made.status[MOVES] <= budget and made.status[LENGTH] + 4 < LONGEST:
        least, best, leaving, waste = budget - made.status[MOVES] + 1, -1, -1, 1e18
        for at in range(len(state.nodes)):
            if not may_come(item, at, state.items, arrays.allowed):
                continue
            if has_room(item, at, arrays.width, arrays.demand, state.free, bins):
                rest = least_left(item, at, bins) + 1e-6 * state.free[at, 0] * arrays.inverse[0]
                if least > 0 or rest < waste:
                    least, best, leaving, waste = 0, at, -1, rest
                continue
            other = -1 if depth == 0 or least <= 0 else state.nodes[at, FIRST]
            while other >= 0:
                of = arrays.kind[other]
                price = made.cost[max(0, depth - 1), of] + np.int64(state.items[other, HOME] == at)
                size = bins.kinds[of, SIZE]
                if (
                    (price < least or (price == least and best >= 0 and size < waste))
                    and of != arrays.kind[item]
                    and not made.locked[other]
                    and state.items[other, TIER] >= tier
                    and would_fit(item, at, other, arrays, state, bins)
                ):
                    least, best, leaving, waste = price, at, other, size
                other = state.items[other, AFTER]
        if best < 0:
            return False
        if leaving >= 0:
            take_off(leaving, made, arrays, state, bins)
        if not has_room(item, best, arrays.width, arrays.demand, state.free, bins):
            return False
        put_on(item, best, made, arrays, state, bins)
        if leaving < 0:
            return bool(made.status[MOVES] <= budget)
        item = leaving
        depth -= 1
    return False


@inlined
def _change_places(
    item: int, at: int, tier: int, budget: int, made: Exchange, arrays: SearchArrays, state: State, bins: SearchBins
) -> bool:
    """Have ``item``, which has left ``at``, take the place of a pod that then comes to ``at``."""
    kind, length = arrays.kind[item], made.status[LENGTH]
    for index in range(len(made.by_size)):
        of = made.by_size[index]
        other = made.swap[kind, of]
        if other < 0 or made.locked[other] or state.items[other, TIER] < tier:
            continue
        place = state.items[other, NODE]
        if place < 0 or place == at or not may_come(other, at, state.items, arrays.allowed):
            continue
        if not may_come(item, place, state.items, arrays.allowed):
            continue
        if not has_room(other, at, arrays.width, arrays.demand, state.free, bins):
            continue
        if not would_fit(item, place, other, arrays, state, bins):
            continue
        take_off(other, made, arrays, state, bins)
        put_on(item, place, made, arrays, state, bins)
        put_on(other, at, made, arrays, state, bins)
        if made.status[MOVES] <= budget:
            return True
        undo(length, made, arrays, state, bins)
    return False


@inlined
def least_moves(item: int, at: int, made: Exchange, arrays: SearchArrays, state: State) -> int:
    """Return how many moves it takes at least that ``item`` leaves ``at``, as far as the tables tell."""
    return int(min(made.cost[DEPTH, arrays.kind[item]], 1) + np.int64(state.items[item, HOME] == at))


@inlined
def may_leave(item: int, at: int, made: Exchange, arrays: SearchArrays, state: State, bins: SearchBins) -> bool:
    """Return whether some chain or exchange may place ``item``, as far as the tables tell."""
    kind = arrays.kind[item]
    if made.cost[DEPTH, kind] < NEVER:
        return True
    for other in range(len(made.example)):
        one = made.swap[kind, other]
        comes = one >= 0 and may_come(one, at, state.items, arrays.allowed)
        if comes and has_room(one, at, arrays.width, arrays.demand, state.free, bins):
            return True
    return False
