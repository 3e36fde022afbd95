"""Exact search for the fewest moves that make room for all waiting pods.

The largest unplaced item is tried on every node where it fits. Where it does not fit,
one running item of the node after the other is taken off, as long as the budget of
moves lasts, and joins the unplaced items. So every plan with that many moves is tried:
every pod that a plan moves must make way for another at some point. Of replicas at home
on one node only the first is tried, and an item tried before stays while the next one
is.

Not for pods that ask for devices: not every way to give them some is tried.

The search keeps its own stack, so that it can stop after some steps and go on later.
"""

from typing import NamedTuple

import numpy as np

from stowage_optimizer.model.problem import Flags, Indices, Ints
from stowage_optimizer.search.compiling import compiled, inlined
from stowage_optimizer.search.placement import has_room, may_come, put, take
from stowage_optimizer.search.search_arrays import Floats, SearchArrays, Width
from stowage_optimizer.search.state import AFTER, FIRST, HOME, State

PLACING, CLEARING = range(2)
"""Kinds of frames: an item is placed; a node is cleared for an item."""

KIND, ITEM, AT, BUDGET, NEXT, LENGTH, STAGE, TAKEN_OFF = range(8)
"""Columns of the stack: what it is about, and how far it has got."""

DEPTH, UNPLACED, RETURNING = range(3)
"""Places in `SearchStack.status`."""

FOUND, EXHAUSTED, PAUSED = range(3)
"""How `seek` ends."""


class SearchStack(NamedTuple):
    """The search's stack and the items without a node.

    Parameters
    ----------
    frames
        Shape ``(depth, 8)``.
    choices
        Nodes or items to try by frame, shape ``(depth, longest)``.
    key
        Scratch for sorting, shape ``(longest,)``.
    settled
        Items that must not be taken off any more, shape ``(items,)``.
    status
        Depth, unplaced items, whether the frame above has just failed.
    """

    frames: Ints
    choices: Indices
    key: Floats
    unplaced: Indices
    settled: Flags
    status: Ints


def make_stack(waiting: Indices, moves: int, settled: Flags, longest: int) -> SearchStack:
    """Return the search for homes of ``waiting`` with up to ``moves`` moves.

    Parameters
    ----------
    settled
        Items that must not move, shape ``(items,)``.
    longest
        Number of nodes, or of items on one node if that is more.
    """
    depth = len(waiting) + 2 * moves + 3
    stack = SearchStack(
        frames=np.zeros((depth, 8), np.int64),
        choices=np.zeros((depth, longest), np.int32),
        key=np.zeros(longest),
        unplaced=np.zeros(len(waiting) + moves + 1, np.int32),
        settled=settled.copy(),
        status=np.array([0, len(waiting), 0], np.int64),
    )
    stack.unplaced[: len(waiting)] = waiting
    stack.frames[0, BUDGET] = moves
    return stack


@compiled
def seek(steps: int, stack: SearchStack, arrays: SearchArrays, state: State) -> tuple[int, int]:
    """Search for about ``steps`` steps; return how it ended and the steps used.

    If the answer is found, ``state`` holds it.
    """
    frames, choices, key, unplaced = (stack.frames, stack.choices, stack.key, stack.unplaced)
    settled, status = stack.settled, stack.status
    width, demand, sizes = arrays.width, arrays.demand, arrays.sizes
    allowed, kind, inverse = arrays.allowed, arrays.kind, arrays.inverse
    items, nodes, free = state.items, state.nodes, state.free
    depth, unplaced_count, returning = (status[DEPTH], status[UNPLACED], status[RETURNING])
    used = 0
    while depth >= 0:
        if used >= steps and not returning:
            status[DEPTH], status[UNPLACED], status[RETURNING] = (depth, unplaced_count, 0)
            return PAUSED, used
        used += 1
        frame = frames[depth]
        if frame[KIND] == PLACING:
            if not returning:
                if unplaced_count == 0:
                    return FOUND, used
                slot = _largest(unplaced, unplaced_count, sizes)
                item = unplaced[slot]
                unplaced_count -= 1
                unplaced[slot] = unplaced[unplaced_count]
                frame[ITEM], frame[NEXT], frame[STAGE] = item, 0, 0
                frame[LENGTH] = _open_nodes(
                    item, True, choices[depth], key, width, demand, inverse, allowed,
                    free, items,
                )  # fmt: skip
                used += len(free)
            elif frame[STAGE] == 0:
                take(frame[ITEM], width, demand, free, items, nodes, None)
            item = frame[ITEM]
            if frame[STAGE] == 0:
                if frame[NEXT] < frame[LENGTH]:
                    at = choices[depth, frame[NEXT]]
                    frame[NEXT] += 1
                    put(item, at, width, demand, free, items, nodes, None)
                    depth += 1
                    frames[depth, KIND] = PLACING
                    frames[depth, BUDGET] = frame[BUDGET]
                    returning = 0
                    continue
                frame[STAGE], frame[NEXT], frame[LENGTH] = 1, 0, 0
                if frame[BUDGET] > 0:
                    frame[LENGTH] = _open_nodes(
                        item, False, choices[depth], key, width, demand, inverse,
                        allowed, free, items,
                    )  # fmt: skip
                    used += len(free)
            if frame[NEXT] < frame[LENGTH]:
                at = choices[depth, frame[NEXT]]
                frame[NEXT] += 1
                depth += 1
                frames[depth, KIND] = CLEARING
                frames[depth, ITEM] = item
                frames[depth, AT] = at
                frames[depth, BUDGET] = frame[BUDGET]
                returning = 0
                continue
            unplaced[unplaced_count] = item
            unplaced_count += 1
            depth -= 1
            returning = 1
            continue
        item, at = frame[ITEM], frame[AT]
        if not returning:
            length = _movable(at, choices[depth], key, sizes, settled, items, nodes)
            used += length
            if not _can_clear(item, at, frame[BUDGET], length, choices[depth], key, width, demand, free):
                depth -= 1
                returning = 1
                continue
            frame[NEXT], frame[LENGTH] = 0, length
        else:
            off = frame[TAKEN_OFF]
            if frame[STAGE] == 1:
                take(item, width, demand, free, items, nodes, None)
            unplaced_count = _drop(off, unplaced, unplaced_count)
            put(off, at, width, demand, free, items, nodes, None)
            _settle_replicas(off, depth, frame[NEXT], frame[LENGTH], choices, kind, settled)
        following = _next_unsettled(frame[NEXT], frame[LENGTH], choices[depth], settled)
        if following == frame[LENGTH]:
            for index in range(frame[LENGTH]):
                settled[choices[depth, index]] = False
            depth -= 1
            returning = 1
            continue
        off = choices[depth, following]
        frame[NEXT], frame[TAKEN_OFF] = following + 1, off
        take(off, width, demand, free, items, nodes, None)
        settled[off] = True
        unplaced[unplaced_count] = off
        unplaced_count += 1
        frame[STAGE] = 0
        depth += 1
        frames[depth, BUDGET] = frame[BUDGET] - 1
        frames[depth, KIND] = CLEARING
        frames[depth, ITEM] = item
        frames[depth, AT] = at
        if has_room(item, at, width, demand, free, None):
            frame[STAGE] = 1
            put(item, at, width, demand, free, items, nodes, None)
            frames[depth, KIND] = PLACING
        returning = 0
    return EXHAUSTED, used


@inlined
def _largest(unplaced: Indices, unplaced_count: int, sizes: Floats) -> int:
    best = 0
    for slot in range(1, unplaced_count):
        if sizes[unplaced[slot], 1] > sizes[unplaced[best], 1]:
            best = slot
    return best


@inlined
def _open_nodes(
    item: int, fitting: bool, choices: Indices, key: Floats, width: Width, demand: Ints,
    inverse: Floats, allowed: Flags, free: Ints, items: Indices,
) -> int:  # fmt: skip
    """List nodes that ``item`` may come to, with room or without, fullest first.

    Its home is none of them: a needless move is none.
    """
    length = 0
    for at in range(len(free)):
        if has_room(item, at, width, demand, free, None) != fitting:
            continue
        if items[item, HOME] == at or not may_come(item, at, items, allowed):
            continue
        rest = 0.0
        for dimension in range(len(width)):
            rest += min(1.0, free[at, dimension] * inverse[dimension])
        _insert(at, rest if fitting else -rest, choices, key, length)
        length += 1
    return length


@inlined
def _movable(
    at: int, choices: Indices, key: Floats, sizes: Floats, settled: Flags,
    items: Indices, nodes: Indices,
) -> int:  # fmt: skip
    """List running items at home on ``at`` that may be taken off, smallest first."""
    length, item = 0, nodes[at, FIRST]
    while item >= 0:
        if not settled[item] and items[item, HOME] == at:
            _insert(item, sizes[item, 1], choices, key, length)
            length += 1
        item = items[item, AFTER]
    return length


@inlined
def _insert(value: int, rank: float, choices: Indices, key: Floats, length: int) -> None:
    slot = length
    while slot > 0 and key[slot - 1] > rank:
        key[slot] = key[slot - 1]
        choices[slot] = choices[slot - 1]
        slot -= 1
    key[slot] = rank
    choices[slot] = value


@inlined
def _can_clear(
    item: int, at: int, budget: int, length: int, choices: Indices, key: Floats,
    width: Width, demand: Ints, free: Ints,
) -> bool:  # fmt: skip
    """Return whether the largest movable items together leave enough room."""
    most = min(budget, length)
    if most == 0:
        return False
    for dimension in range(len(width)):
        short = demand[item, dimension] - free[at, dimension]
        if short <= 0 or demand[item, dimension] == 0:
            continue
        # The ``most`` largest amounts, kept in order in the first places of ``key``.
        for slot in range(most):
            key[slot] = 0.0
        for index in range(length):
            amount = float(demand[choices[index], dimension])
            slot = most
            while slot > 0 and key[slot - 1] < amount:
                if slot < most:
                    key[slot] = key[slot - 1]
                slot -= 1
            if slot < most:
                key[slot] = amount
        cleared = 0.0
        for slot in range(most):
            cleared += key[slot]
        if cleared < short:
            return False
    return True


@inlined
def _drop(item: int, unplaced: Indices, unplaced_count: int) -> int:
    """Take ``item`` out of the unplaced items; return how many are left."""
    for slot in range(unplaced_count):
        if unplaced[slot] == item:
            unplaced[slot] = unplaced[unplaced_count - 1]
            return unplaced_count - 1
    return unplaced_count


@inlined
def _settle_replicas(
    item: int, depth: int, first: int, length: int, choices: Indices, kind: Indices,
    settled: Flags,
) -> None:  # fmt: skip
    """Leave ``item`` and its replicas on the node alone: moving any was just tried."""
    settled[item] = True
    for index in range(first, length):
        other = choices[depth, index]
        if kind[other] == kind[item]:
            settled[other] = True


@inlined
def _next_unsettled(first: int, length: int, choices: Indices, settled: Flags) -> int:
    index = first
    while index < length and settled[choices[index]]:
        index += 1
    return index
