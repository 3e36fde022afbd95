"""One neighbourhood of the local search: empty a few nodes, and fill them again."""

from stowage_optimizer.model.problem import Flags, Indices, Ints
from stowage_optimizer.search.compiling import inlined
from stowage_optimizer.search.device_choice import give_again, remember, whole_shares
from stowage_optimizer.search.device_state import SearchBins
from stowage_optimizer.search.placement import has_room, may_come, put, settle_down, take
from stowage_optimizer.search.search_arrays import Floats, Width
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
    RandomGenerator,
    below,
    uniform,
)

SAMPLE = 12
"""Waiting items that a neighbourhood tries to place."""

FEW = 2
"""Items that the mildest destruction takes off a node, on average."""

MOST_DESTROYED = 96
"""Items a neighbourhood takes off their nodes, roughly; more would only be slow."""

UPPER = 1e6
"""Head start of an item for each tier that it is above the one searched."""

RETURN_HOME_TENTHS = 8
"""Return-home probability of a moved item, in tenths: it is the centre then."""

FAR = 1e18
"""More than any size or misfit."""

BY_DIMENSION, AT_RANDOM, SENSES = 2, 4, 5
"""Senses of the order: below the first by one dimension, at the second at random."""

SOONER = 1e3
"""Head start of running items, in some neighbourhoods of the strict policy."""


@inlined
def choose_nodes(
    selected: Indices, stabilising: bool, items: Indices, nodes: Indices,
    lists: Indices, counters: Ints, rng: RandomGenerator,
) -> tuple[int, int]:  # fmt: skip
    """Choose distinct nodes; return how many, and the item to send home or -1."""
    chosen, focus = 0, -1
    wanted = min(2 + below(rng, 2 if stabilising else 3), len(nodes))
    moved = counters[MOVED]
    if stabilising and moved > 0 and below(rng, 10) < RETURN_HOME_TENTHS:
        item = lists[MOVED, below(rng, moved)]
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
        at = below(rng, len(nodes))
        if nodes[at, CHOSEN] == 0:
            selected[chosen] = at
            nodes[at, CHOSEN] = 1
            chosen += 1
    return chosen, focus


@inlined
def destroy(
    selected: Indices, chosen: int, focus: int, width: Width, demand: Ints, free: Ints,
    items: Indices, nodes: Indices, repair_set: Indices, rng: RandomGenerator,
    bins: SearchBins | None,
) -> int:  # fmt: skip
    """Take items off the selected nodes; return the size of the repair set."""
    style, taken, present = below(rng, 4), 0, 0
    for index in range(chosen):
        present += nodes[selected[index], COUNT]
    for index in range(chosen):
        at = selected[index]
        item = nodes[at, FIRST]
        while item >= 0:
            following = items[item, AFTER]
            if style == 0:
                takes = present <= MOST_DESTROYED or below(rng, present) < MOST_DESTROYED
            elif style == 1:
                takes = below(rng, max(2 * MOST_DESTROYED, present)) < MOST_DESTROYED
            else:
                takes = below(rng, nodes[at, COUNT]) < FEW
            if takes or item == focus:
                repair_set[taken, TAKEN] = item
                repair_set[taken, ORIGIN] = at
                taken += 1
                if bins is not None:
                    remember(item, bins)
                take(item, width, demand, free, items, nodes, bins)
            item = following
    return taken


@inlined
def add_waiting(taken: int, lists: Indices, counters: Ints, repair_set: Indices, rng: RandomGenerator) -> int:
    """Take some of the waiting items to the repair set; return its size."""
    waiting = counters[WAITING]
    start = below(rng, waiting) if waiting > SAMPLE else 0
    for index in range(min(waiting, SAMPLE)):
        slot = start + index
        if slot >= waiting:
            slot -= waiting
        repair_set[taken, TAKEN] = lists[WAITING, slot]
        repair_set[taken, ORIGIN] = -1
        taken += 1
    return taken


@inlined
def sort_repair_set(
    taken: int, tier: int, strict: int, shares: Floats, sizes: Floats, binding: int,
    items: Indices, repair_set: Indices, key: Floats, rng: RandomGenerator,
) -> None:  # fmt: skip
    """Order the items of the repair set, largest first in one of several senses."""
    sense = below(rng, SENSES)
    noise = below(rng, 3) * 0.15
    dimension = below(rng, binding)
    sooner = SOONER * (strict * below(rng, 2))
    for index in range(taken):
        item = repair_set[index, TAKEN]
        if sense < BY_DIMENSION:
            rank = shares[item, dimension]
        elif sense == AT_RANDOM:
            rank = uniform(rng)
        else:
            rank = sizes[item, sense - BY_DIMENSION]
        rank *= 1.0 + noise * (uniform(rng) - 0.5)
        rank += UPPER * (tier - items[item, TIER])
        if items[item, HOME] >= 0:
            rank += sooner
        slot = index - 1
        while slot >= 0 and key[slot] < rank:
            key[slot + 1] = key[slot]
            repair_set[slot + 1, ORDER] = repair_set[slot, ORDER]
            slot -= 1
        key[slot + 1] = rank
        repair_set[slot + 1, ORDER] = item


@inlined
def send_home(
    taken: int, width: Width, demand: Ints, free: Ints, items: Indices, nodes: Indices,
    repair_set: Indices, rng: RandomGenerator, bins: SearchBins | None,
) -> None:  # fmt: skip
    """Return most of the repair set to their homes, where these are selected."""
    for index in range(taken):
        item = repair_set[index, ORDER]
        home = items[item, HOME]
        if home < 0 or nodes[home, CHOSEN] == 0:
            continue
        if has_room(item, home, width, demand, free, bins) and below(rng, 10) < RETURN_HOME_TENTHS:
            put(item, home, width, demand, free, items, nodes, bins)


@inlined
def repair(
    selected: Indices, chosen: int, taken: int, home_tenths: int, width: Width,
    demand: Ints, shares: Floats, inverse: Floats, binding: int, allowed: Flags,
    free: Ints, items: Indices, nodes: Indices, repair_set: Indices,
    rng: RandomGenerator, bins: SearchBins | None,
) -> None:  # fmt: skip
    """Put the items of the repair set on the selected nodes, as far as they fit."""
    fit = below(rng, 3)
    for index in range(taken):
        item = repair_set[index, ORDER]
        if items[item, NODE] >= 0:
            continue
        home, best = items[item, HOME], -1
        if home >= 0 and nodes[home, CHOSEN] and below(rng, 10) < home_tenths:
            best = home if has_room(item, home, width, demand, free, bins) else -1
        least = FAR if best < 0 else -FAR
        for number in range(chosen):
            at = selected[number]
            if not has_room(item, at, width, demand, free, bins):
                continue
            if not may_come(item, at, items, allowed) or below(rng, 32) == 0:
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
            put(item, best, width, demand, free, items, nodes, bins)


@inlined
def concentration(
    selected: Indices, chosen: int, free: Ints, inverse: Floats, binding: int,
    bins: SearchBins | None,
) -> float:  # fmt: skip
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
        if bins is not None:
            total += whole_shares(at, bins)
    return total


@inlined
def smaller(taken: int, sizes: Floats, items: Indices, repair_set: Indices) -> float:
    """Return how much smaller the smallest waiting item of the repair set is now."""
    before, after = FAR, FAR
    for index in range(taken):
        item = repair_set[index, TAKEN]
        if repair_set[index, ORIGIN] < 0:
            before = min(before, sizes[item, 1])
        if items[item, NODE] < 0:
            after = min(after, sizes[item, 1])
    if max(before, after) >= FAR:
        return 0.0
    return before - after


@inlined
def put_back(
    taken: int, width: Width, demand: Ints, free: Ints, items: Indices, nodes: Indices,
    repair_set: Indices, bins: SearchBins | None,
) -> None:  # fmt: skip
    """Undo: every item of the repair set goes where it was."""
    for index in range(taken):
        if items[repair_set[index, TAKEN], NODE] >= 0:
            take(repair_set[index, TAKEN], width, demand, free, items, nodes, bins)
    for index in range(taken):
        at = repair_set[index, ORIGIN]
        if at >= 0:
            if bins is not None:
                give_again(repair_set[index, TAKEN], at, bins)
            settle_down(repair_set[index, TAKEN], at, width, demand, free, items, nodes)
