"""Exact search for few moves: the least that makes room for everybody who waits.

The largest item in hand is tried on every node where it fits. Where it does not fit,
one running item of the node after the other is taken off, as long as the budget of
moves lasts, and joins those in hand. So every plan with that many moves is tried:
whoever moves in a plan must make way for somebody at some point. Of replicas at home on
one node only the first is tried, and an item tried before stays while the next one is.

The search keeps its own stack, so that it can stop after some steps and go on later.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stowage_optimizer.search.compiling import compiled, inlined
from stowage_optimizer.search.problem import Flags, Indices, Ints
from stowage_optimizer.search.seating import has_room, may_come, put, take
from stowage_optimizer.search.state import AFTER, FIRST, HOME, State
from stowage_optimizer.search.terrain import Floats, Terrain, Width

SEATING, CLEARING = range(2)
"""Kinds of frames: an item looks for a node; a node is cleared for an item."""

KIND, ITEM, AT, BUDGET, NEXT, LENGTH, STAGE, TAKEN_OFF = range(8)
"""Columns of the stack: what it is about, and how far it has got."""

DEPTH, IN_HAND, RETURNING = range(3)
"""Places in `Quest.status`."""

FOUND, EXHAUSTED, PAUSED = range(3)
"""How `seek` ends."""


class Quest(NamedTuple):
    """The search's stack and what is in hand.

    Parameters
    ----------
    frames
        Shape ``(depth, 8)``.
    choices
        Nodes or items to try by frame, shape ``(depth, longest)``.
    key
        Scratch for sorting, shape ``(longest,)``.
    hand
        Items that look for a node.
    settled
        Items that must not be taken off any more, shape ``(items,)``.
    status
        Depth, items in hand, whether the frame above has just failed.
    """

    frames: Ints
    choices: Indices
    key: Floats
    hand: Indices
    settled: Flags
    status: Ints


def make_quest(waiting: Indices, moves: int, settled: Flags, longest: int) -> Quest:
    """Return the search for homes of ``waiting`` with up to ``moves`` moves.

    Parameters
    ----------
    waiting
        Items without a node.
    moves
        The budget.
    settled
        Items that must not move, shape ``(items,)``.
    longest
        Number of nodes, or of items on one node if that is more.
    """
    depth = len(waiting) + 2 * moves + 3
    quest = Quest(
        frames=np.zeros((depth, 8), np.int64),
        choices=np.zeros((depth, longest), np.int32),
        key=np.zeros(longest),
        hand=np.zeros(len(waiting) + moves + 1, np.int32),
        settled=settled.copy(),
        status=np.array([0, len(waiting), 0], np.int64),
    )
    quest.hand[: len(waiting)] = waiting
    quest.frames[0, BUDGET] = moves
    return quest


@compiled
def seek(steps: int, quest: Quest, terrain: Terrain, state: State) -> tuple[int, int]:
    """Search for about ``steps`` steps; return how it ended and the steps used.

    If the answer is found, ``state`` holds it.
    """
    frames, choices, key, hand = quest.frames, quest.choices, quest.key, quest.hand
    settled, status = quest.settled, quest.status
    width, demand, sizes = terrain.width, terrain.demand, terrain.sizes
    allowed, kind, inverse = terrain.allowed, terrain.kind, terrain.inverse
    items, nodes, free = state.items, state.nodes, state.free
    depth, in_hand, returning = status[DEPTH], status[IN_HAND], status[RETURNING]
    used = 0
    while depth >= 0:
        if used >= steps and not returning:
            status[DEPTH], status[IN_HAND], status[RETURNING] = depth, in_hand, 0
            return PAUSED, used
        used += 1
        frame = frames[depth]
        if frame[KIND] == SEATING:
            if not returning:
                if in_hand == 0:
                    return FOUND, used
                slot = _largest(hand, in_hand, sizes)
                item = hand[slot]
                in_hand -= 1
                hand[slot] = hand[in_hand]
                frame[ITEM], frame[NEXT], frame[STAGE] = item, 0, 0
                frame[LENGTH] = _open_nodes(
                    item, True, choices[depth], key, width, demand, inverse, allowed,
                    free, items,
                )  # fmt: skip
                used += len(free)
            elif frame[STAGE] == 0:
                take(frame[ITEM], width, demand, free, items, nodes)
            item = frame[ITEM]
            if frame[STAGE] == 0:
                if frame[NEXT] < frame[LENGTH]:
                    at = choices[depth, frame[NEXT]]
                    frame[NEXT] += 1
                    put(item, at, width, demand, free, items, nodes)
                    depth += 1
                    frames[depth, KIND] = SEATING
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
            hand[in_hand] = item
            in_hand += 1
            depth -= 1
            returning = 1
            continue
        item, at = frame[ITEM], frame[AT]
        if not returning:
            length = _movable(at, choices[depth], key, sizes, settled, items, nodes)
            used += length
            if not _can_clear(
                item,
                at,
                frame[BUDGET],
                length,
                choices[depth],
                key,
                width,
                demand,
                free,
            ):
                depth -= 1
                returning = 1
                continue
            frame[NEXT], frame[LENGTH] = 0, length
        else:
            off = frame[TAKEN_OFF]
            if frame[STAGE] == 1:
                take(item, width, demand, free, items, nodes)
            in_hand = _drop(off, hand, in_hand)
            put(off, at, width, demand, free, items, nodes)
            _settle_replicas(
                off, depth, frame[NEXT], frame[LENGTH], choices, kind, settled
            )
        following = _next_unsettled(frame[NEXT], frame[LENGTH], choices[depth], settled)
        if following == frame[LENGTH]:
            for index in range(frame[LENGTH]):
                settled[choices[depth, index]] = False
            depth -= 1
            returning = 1
            continue
        off = choices[depth, following]
        frame[NEXT], frame[TAKEN_OFF] = following + 1, off
        take(off, width, demand, free, items, nodes)
        settled[off] = True
        hand[in_hand] = off
        in_hand += 1
        frame[STAGE] = 0
        depth += 1
        frames[depth, BUDGET] = frame[BUDGET] - 1
        frames[depth, KIND] = CLEARING
        frames[depth, ITEM] = item
        frames[depth, AT] = at
        if has_room(item, at, width, demand, free):
            frame[STAGE] = 1
            put(item, at, width, demand, free, items, nodes)
            frames[depth, KIND] = SEATING
        returning = 0
    return EXHAUSTED, used


@inlined
def _largest(hand: Indices, in_hand: int, sizes: Floats) -> int:
    best = 0
    for slot in range(1, in_hand):
        if sizes[hand[slot], 1] > sizes[hand[best], 1]:
            best = slot
    return best


@inlined
def _open_nodes(
    item: int, fitting: bool, choices: Indices, key: Floats, width: Width, demand: Ints,
    inverse: Floats, allowed: Flags, free: Ints, items: Indices,
) -> int:  # fmt: skip
    """List nodes that ``item`` may come to, with room or without, fullest first.

    Its home is none of them: an item that moves for nothing is not moved at all.
    """
    length = 0
    for at in range(len(free)):
        if has_room(item, at, width, demand, free) != fitting:
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
def _insert(
    value: int, rank: float, choices: Indices, key: Floats, length: int
) -> None:
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
    """Tell whether the largest movable items together leave enough room."""
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
def _drop(item: int, hand: Indices, in_hand: int) -> int:
    """Take ``item`` out of the hand; return how many are left in it."""
    for slot in range(in_hand):
        if hand[slot] == item:
            hand[slot] = hand[in_hand - 1]
            return in_hand - 1
    return in_hand


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
