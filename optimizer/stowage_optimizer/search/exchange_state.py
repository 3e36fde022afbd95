"""What exchanges know and change, besides the search's state, and changes that can be undone."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stowage_optimizer.model.problem import NOWHERE, Flags, Indices, Ints
from stowage_optimizer.search.compiling import inlined
from stowage_optimizer.search.device_choice import asks, devices_fit, give_again, give_back, hold_again, remember
from stowage_optimizer.search.device_state import ASK, AT_HOME, CHOSEN, DEVICE, SIZE, SearchBins
from stowage_optimizer.search.device_state import HOME as HOME_OPTION
from stowage_optimizer.search.placement import put, settle_down, take
from stowage_optimizer.search.search_arrays import SearchArrays
from stowage_optimizer.search.state import HOME, NODE, State

DEPTH = 2
"""Pods of a chain, besides the first."""

NEVER = 1 << 40
"""Instead of a number of moves: there is no way."""

LONGEST = 512
"""Places that change in one attempt."""

MOST_EASIER = 6
"""Kinds of which one that found no way to a node shows that others find none either."""

LENGTH, MOVES, ATTEMPTS = range(3)
"""Places in `Exchange.status`."""

ITEM, ORIGIN = range(2)
"""Columns of `Exchange.journal`."""

MEMBERS, LEAVING = range(2)
"""Rows of `Exchange.scratch`."""


class Exchange(NamedTuple):
    """What the attempts know and change, besides the search's state.

    Parameters
    ----------
    cost
        Moves after which one more pod of a kind fits somewhere, by the length of chains, shape ``(DEPTH + 1, kinds)``.
    swap
        A pod of the second kind in whose place one of the first would fit, shape ``(kinds, kinds)``.
    example
        A pod of each kind, shape ``(kinds,)``.
    locked
        Pods that have their place in this attempt, shape ``(items,)``.
    journal
        Pods and the nodes that they left, in the order of changes, shape ``(LONGEST, 2)``.
    version, failed
        How often a node has changed, and when a kind found no way there, shapes ``(nodes,)`` and ``(kinds, nodes)``.
    easier
        Kinds that ask for the same devices and for no more of all else, shape ``(kinds, MOST_EASIER)``.
    by_size
        Kinds by the devices they ask for, the smallest first, shape ``(kinds,)``.
    price
        Scratch: moves for which a device is free, shape ``(devices,)``.
    """

    cost: Ints
    swap: Indices
    example: Indices
    locked: Flags
    journal: Indices
    version: Indices
    failed: Indices
    easier: Indices
    by_size: Indices
    price: Ints
    scratch: Indices
    status: Ints


def make_exchange(waiting: Sequence[int], arrays: SearchArrays, state: State, bins: SearchBins) -> Exchange:
    """Return tables that are not filled in yet; ``waiting`` has a pod of each kind that waits, in their order."""
    items, nodes, kinds = len(arrays.home), len(arrays.room), int(arrays.kind.max(initial=0)) + 1
    example = np.full(kinds, NOWHERE, np.int32)
    # Of those that wait none has a home, where it would fit better than others of its kind.
    order = np.argsort(arrays.home, kind="stable")[::-1]
    example[arrays.kind[order]] = order
    away = (arrays.home != NOWHERE) & (state.items[:, NODE] != arrays.home)
    return Exchange(
        cost=np.full((DEPTH + 1, kinds), NEVER, np.int64),
        swap=np.full((kinds, kinds), NOWHERE, np.int32),
        example=example,
        locked=np.zeros(items, np.bool_),
        journal=np.zeros((LONGEST, 2), np.int32),
        version=np.zeros(nodes, np.int32),
        failed=np.full((kinds, nodes), NOWHERE, np.int32),
        easier=_find_easier(waiting, kinds, arrays, bins),
        by_size=np.argsort(bins.kinds[:kinds, SIZE], kind="stable").astype(np.int32),
        price=np.zeros(bins.layouts.shape[2] - 1, np.int64),
        scratch=np.zeros((2, items), np.int32),
        status=np.array([0, np.count_nonzero(away), 0], np.int64),
    )


def _find_easier(waiting: Sequence[int], kinds: int, arrays: SearchArrays, bins: SearchBins) -> Indices:
    found = np.full((kinds, MOST_EASIER), NOWHERE, np.int32)
    alike: dict[object, list[int]] = {}
    for item in waiting:
        kind = arrays.kind[item]
        requests = bins.wish[bins.kinds[kind, ASK] : bins.kinds[kind + 1, ASK]].tobytes()
        others = alike.setdefault((requests, arrays.mask[item], arrays.tier[item], arrays.worth[item]), [])
        easier = [one for one in others if (arrays.demand[one] <= arrays.demand[item]).all()][-MOST_EASIER:]
        found[kind, : len(easier)] = arrays.kind[easier]
        others.append(item)
    return found


@inlined
def would_fit(item: int, at: int, other: int, arrays: SearchArrays, state: State, bins: SearchBins) -> bool:
    """Return whether ``item`` would fit on ``at`` without ``other``, which is there."""
    for dimension in range(len(arrays.width)):
        amount = arrays.demand[item, dimension]
        if amount > 0 and amount > state.free[at, dimension] + arrays.demand[other, dimension]:
            return False
    if not asks(item, bins):
        return True
    give_back(other, at, bins)
    fits = devices_fit(item, at, bins)
    hold_again(other, at, bins)
    return fits


@inlined
def number_of_devices(item: int, bins: SearchBins) -> int:
    """Return how many devices ``item`` has."""
    if not asks(item, bins):
        return 0
    number = bins.picks[CHOSEN, item, 0]
    if number == AT_HOME:
        number = bins.items[item + 1, HOME_OPTION] - bins.items[item, HOME_OPTION]
    return int(number)


@inlined
def device_of(item: int, number: int, bins: SearchBins) -> int:
    """Return one of the devices that ``item`` has."""
    if bins.picks[CHOSEN, item, 0] == AT_HOME:
        return int(bins.option[bins.items[item, HOME_OPTION] + number, DEVICE])
    return int(bins.option[bins.picks[CHOSEN, item, 1 + number], DEVICE])


@inlined
def has_twin(index: int, begin: int, made: Exchange, arrays: SearchArrays, state: State, bins: SearchBins) -> bool:
    """Return whether a pod before is as good to leave: of the same kind, at home or not, with the same first device."""
    item = made.scratch[MEMBERS, index]
    at = state.items[item, NODE]
    for other in range(begin, index):
        one = made.scratch[MEMBERS, other]
        if arrays.kind[one] != arrays.kind[item]:
            continue
        if (state.items[one, HOME] == at) != (state.items[item, HOME] == at):
            continue
        number = number_of_devices(item, bins)
        if number == number_of_devices(one, bins) and (
            number == 0 or device_of(item, 0, bins) == device_of(one, 0, bins)
        ):
            return True
    return False


@inlined
def put_on(item: int, at: int, made: Exchange, arrays: SearchArrays, state: State, bins: SearchBins) -> None:
    """Put ``item`` on ``at``, where there is room for it."""
    made.journal[made.status[LENGTH], ITEM] = item
    made.journal[made.status[LENGTH], ORIGIN] = -1
    made.status[LENGTH] += 1
    made.locked[item] = True
    if state.items[item, HOME] == at:
        made.status[MOVES] -= 1
    put(item, at, arrays.width, arrays.demand, state.free, state.items, state.nodes, bins)


@inlined
def take_off(item: int, made: Exchange, arrays: SearchArrays, state: State, bins: SearchBins) -> None:
    """Take ``item`` off its node; not twice in an attempt."""
    at = state.items[item, NODE]
    made.journal[made.status[LENGTH], ITEM] = item
    made.journal[made.status[LENGTH], ORIGIN] = at
    made.status[LENGTH] += 1
    made.locked[item] = True
    if state.items[item, HOME] == at:
        made.status[MOVES] += 1
    remember(item, bins)
    take(item, arrays.width, arrays.demand, state.free, state.items, state.nodes, bins)


@inlined
def undo(length: int, made: Exchange, arrays: SearchArrays, state: State, bins: SearchBins) -> None:
    """Take back all changes but the first ``length``."""
    while made.status[LENGTH] > length:
        made.status[LENGTH] -= 1
        item, origin = made.journal[made.status[LENGTH], ITEM], made.journal[made.status[LENGTH], ORIGIN]
        if origin < 0:
            if state.items[item, HOME] == state.items[item, NODE]:
                made.status[MOVES] += 1
            take(item, arrays.width, arrays.demand, state.free, state.items, state.nodes, bins)
        else:
            give_again(item, origin, bins)
            settle_down(item, origin, arrays.width, arrays.demand, state.free, state.items, state.nodes)
            if state.items[item, HOME] == origin:
                made.status[MOVES] -= 1
            made.locked[item] = False


@inlined
def unlock(made: Exchange) -> None:
    """End an attempt: all that have changed may change again."""
    for index in range(made.status[LENGTH]):
        made.locked[made.journal[index, ITEM]] = False
