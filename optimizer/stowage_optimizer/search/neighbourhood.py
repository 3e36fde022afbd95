"""One neighbourhood of the local search: empty a few nodes, and fill them again."""

from __future__ import annotations

from stowage_optimizer.search.chance import Dice, below, share
from stowage_optimizer.search.compiling import inlined
from stowage_optimizer.search.problem import Flags, Indices, Ints
from stowage_optimizer.search.seating import has_room, may_come, put, take
from stowage_optimizer.search.state import (
    AFTER,
    CHOSEN,
    COUNT,
    FIRST,
    HOME,
    MOVED,
    NODE,
    ORDER,
    ORIGIN,
    TAKEN,
    TIER,
    WAITING,
)
from stowage_optimizer.search.terrain import Floats, Width

SAMPLE = 12
"""Waiting items that a neighbourhood tries to place."""

FEW = 2
"""Items that the gentlest ruin takes off a node, on average."""

CROWD = 96
"""Items a neighbourhood takes off their nodes, roughly; more would only be slow."""

UPPER = 1e6
"""Head start of an item for each tier that it is above the one searched."""

HOMESICK = 8
"""How often in ten a moved item is at the centre, and goes home where it can."""

FAR = 1e18
"""More than any size or misfit."""

BY_DIMENSION, AT_RANDOM, SENSES = 2, 4, 5
"""Senses of the order: below the first by one dimension, at the second at random."""

SOONER = 1e3
"""Head start of running items, in some neighbourhoods of the strict policy."""


@inlined
def choose_nodes(
    selected: Indices, calming: bool, items: Indices, nodes: Indices, lists: Indices,
    counters: Ints, dice: Dice,
) -> tuple[int, int]:  # fmt: skip
    """Choose distinct nodes; return how many, and the item to send home or -1."""
    chosen, focus = 0, -1
    wanted = min(2 + below(dice, 2 if calming else 3), len(nodes))
    moved = counters[MOVED]
    if calming and moved > 0 and below(dice, 10) < HOMESICK:
        item = lists[MOVED, below(dice, moved)]
        home, at = items[item, HOME], items[item, NODE]
        if at != home:
            focus = item
            selected[chosen] = home
            nodes[home, CHOSEN] = 1
            chosen += 1
            if at >= 0:
                selected[chosen] = at
                nodes[at, CHOSEN] = 1
                chosen += 1
    while chosen < wanted:
        at = below(dice, len(nodes))
        if nodes[at, CHOSEN] == 0:
            selected[chosen] = at
            nodes[at, CHOSEN] = 1
            chosen += 1
    return chosen, focus


@inlined
def ruin(
    selected: Indices, chosen: int, focus: int, width: Width, demand: Ints, free: Ints,
    items: Indices, nodes: Indices, hand: Indices, dice: Dice,
) -> int:  # fmt: skip
    """Take items off the selected nodes; return how many are in hand."""
    style, taken, crowd = below(dice, 4), 0, 0
    for index in range(chosen):
        crowd += nodes[selected[index], COUNT]
    for index in range(chosen):
        at = selected[index]
        item = nodes[at, FIRST]
        while item >= 0:
            following = items[item, AFTER]
            if style == 0:
                takes = crowd <= CROWD or below(dice, crowd) < CROWD
            elif style == 1:
                takes = below(dice, max(2 * CROWD, crowd)) < CROWD
            else:
                takes = below(dice, nodes[at, COUNT]) < FEW
            if takes or item == focus:
                hand[taken, TAKEN] = item
                hand[taken, ORIGIN] = at
                taken += 1
                take(item, width, demand, free, items, nodes)
            item = following
    return taken


@inlined
def invite(
    taken: int, lists: Indices, counters: Ints, hand: Indices, dice: Dice
) -> int:
    """Take some of the waiting items in hand too; return how many are in hand."""
    waiting = counters[WAITING]
    start = below(dice, waiting) if waiting > SAMPLE else 0
    for index in range(min(waiting, SAMPLE)):
        slot = start + index
        if slot >= waiting:
            slot -= waiting
        hand[taken, TAKEN] = lists[WAITING, slot]
        hand[taken, ORIGIN] = -1
        taken += 1
    return taken


@inlined
def sort_in_hand(
    taken: int, tier: int, strict: int, shares: Floats, sizes: Floats, binding: int,
    items: Indices, hand: Indices, key: Floats, dice: Dice,
) -> None:  # fmt: skip
    """Order the items in hand, largest first in one of several senses."""
    sense = below(dice, SENSES)
    noise = below(dice, 3) * 0.15
    dimension = below(dice, binding)
    sooner = SOONER * (strict * below(dice, 2))
    for index in range(taken):
        item = hand[index, TAKEN]
        if sense < BY_DIMENSION:
            rank = shares[item, dimension]
        elif sense == AT_RANDOM:
            rank = share(dice)
        else:
            rank = sizes[item, sense - BY_DIMENSION]
        rank *= 1.0 + noise * (share(dice) - 0.5)
        rank += UPPER * (tier - items[item, TIER])
        if items[item, HOME] >= 0:
            rank += sooner
        slot = index - 1
        while slot >= 0 and key[slot] < rank:
            key[slot + 1] = key[slot]
            hand[slot + 1, ORDER] = hand[slot, ORDER]
            slot -= 1
        key[slot + 1] = rank
        hand[slot + 1, ORDER] = item


@inlined
def send_home(
    taken: int, width: Width, demand: Ints, free: Ints, items: Indices, nodes: Indices,
    hand: Indices, dice: Dice,
) -> None:  # fmt: skip
    """Put most of the items in hand on their home, where it is among the selected."""
    for index in range(taken):
        item = hand[index, ORDER]
        home = items[item, HOME]
        if home < 0 or nodes[home, CHOSEN] == 0:
            continue
        if has_room(item, home, width, demand, free) and below(dice, 10) < HOMESICK:
            put(item, home, width, demand, free, items, nodes)


@inlined
def recreate(
    selected: Indices, chosen: int, taken: int, homeward: int, width: Width,
    demand: Ints, shares: Floats, inverse: Floats, binding: int, allowed: Flags,
    free: Ints, items: Indices, nodes: Indices, hand: Indices, dice: Dice,
) -> None:  # fmt: skip
    """Put the items in hand on the selected nodes, as far as they fit."""
    fit = below(dice, 3)
    for index in range(taken):
        item = hand[index, ORDER]
        if items[item, NODE] >= 0:
            continue
        home, best = items[item, HOME], -1
        if home >= 0 and nodes[home, CHOSEN] and below(dice, 10) < homeward:
            best = home if has_room(item, home, width, demand, free) else -1
        least = FAR if best < 0 else -FAR
        for number in range(chosen):
            at = selected[number]
            if not has_room(item, at, width, demand, free):
                continue
            if not may_come(item, at, items, allowed) or below(dice, 32) == 0:
                continue
            total, low, high = 0.0, FAR, -FAR
            for dimension in range(binding):
                rest = free[at, dimension] * inverse[dimension]
                rest -= shares[item, dimension]
                total += rest
                low = min(low, rest)
                high = max(high, rest)
            misfit = total if fit == 0 else high
            if fit == 1:
                misfit = (high - low) + 0.3 * total
            if misfit < least:
                best, least = at, misfit
        if best >= 0:
            put(item, best, width, demand, free, items, nodes)


@inlined
def concentration(
    selected: Indices, chosen: int, free: Ints, inverse: Floats, binding: int
) -> float:
    """Return how much the free room of the selected nodes is in few places.

    Large and even gaps count more than the same room in crumbs, since the next
    waiting item needs one gap in all dimensions at once.
    """
    total = 0.0
    for index in range(chosen):
        at = selected[index]
        gaps, squares, least = 0.0, 0.0, FAR
        for dimension in range(binding):
            gap = free[at, dimension] * inverse[dimension]
            gaps += gap
            squares += gap * gap
            least = min(least, gap)
        pairs = max(1, binding * (binding - 1))
        total += (gaps * gaps - squares) / pairs + 0.5 * least * least
    return total


@inlined
def smaller(taken: int, sizes: Floats, items: Indices, hand: Indices) -> float:
    """Return by how much the smallest waiting item in hand has become smaller."""
    before, after = FAR, FAR
    for index in range(taken):
        item = hand[index, TAKEN]
        if hand[index, ORIGIN] < 0:
            before = min(before, sizes[item, 1])
        if items[item, NODE] < 0:
            after = min(after, sizes[item, 1])
    if max(before, after) >= FAR:
        return 0.0
    return before - after


@inlined
def put_back(
    taken: int, width: Width, demand: Ints, free: Ints, items: Indices, nodes: Indices,
    hand: Indices,
) -> None:  # fmt: skip
    """Undo: every item in hand goes where it was."""
    for index in range(taken):
        if items[hand[index, TAKEN], NODE] >= 0:
            take(hand[index, TAKEN], width, demand, free, items, nodes)
    for index in range(taken):
        at = hand[index, ORIGIN]
        if at >= 0:
            put(hand[index, TAKEN], at, width, demand, free, items, nodes)
