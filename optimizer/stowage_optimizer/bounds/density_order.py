"""What a node may hold, densest first: the order that searches for patterns go by.

A choice is a kind of pod together with how it is there: staying at home, or coming.
Compiled code makes no arrays here: each one made would be compiled too, with all that
can go wrong while it is made. So the caller passes the tables to write to.
"""

import numpy as np
from numpy.typing import NDArray

from stowage_optimizer.model.problem import Indices, Ints
from stowage_optimizer.search.compiling import inlined

Floats = NDArray[np.float64]

MERGED = 1 << 24
"""Room of a node in the merged dimension."""

LEAST_WEIGHT = 1e-12
"""Weight of what weighs nothing, so that it can be divided by."""

FEW = 15
"""Choices that are sorted one by one."""

MOST, GAIN, NAME, WEIGHT, TAKEN, PATH, ORDER, BEST_ORDER, LIMITS, GAINS, NAMES = range(11)
"""Rows of the table: number, value, name and merged weight of each choice in order,
how many are taken, the search's path, two orders, and the first three unsorted."""

KEY, HEAVY, LIGHTEST = range(3)
"""Rows of the floating point table: what is sorted by, and weights."""

UNSORTED, SORTED = range(2)
"""Parts of the choices' demand."""


def make_tables(kinds: int, dimensions: int) -> tuple[Ints, Ints, Floats]:
    """Return the demand of choices, their table, and one of floating point numbers.

    Returns
    -------
    tuple
        Shapes ``(2, choices, dimensions)``, ``(11, choices + 1)`` and
        ``(3, choices)``; there are two choices for each kind.
    """
    choices = 2 * kinds
    return (
        np.empty((2, choices, dimensions), np.int64),
        np.empty((11, choices + 1), np.int64),
        np.empty((3, choices), np.float64),
    )


@inlined
def list_choices(
    demand: Ints, room: Ints, stay: Indices, come: Indices, value: Ints, bonus: Ints, least: int, mixes: Floats,
    needs: Ints, table: Ints, scratch: Floats,
) -> tuple[int, int]:  # fmt: skip
    """Fill the tables with each choice above ``least``.

    Returns
    -------
    tuple
        How many there are, and the mix that they are in the order of.
    """
    need, limits, gains = needs[UNSORTED], table[LIMITS], table[GAINS]
    names, width = table[NAMES], demand.shape[1]
    n = 0
    for kind in range(demand.shape[0]):
        fit = 1 << 40
        for d in range(width):
            if demand[kind, d] > 0 and room[d] // demand[kind, d] < fit:
                fit = room[d] // demand[kind, d]
        for way in range(2):
            limit = stay[kind] if way == 0 else come[kind]
            limit = limit if limit < fit else fit
            each = value[kind] + (bonus[kind] if way == 0 else 0)
            if limit > 0 and each > least:
                for d in range(width):
                    need[n, d] = demand[kind, d]
                limits[n], gains[n], names[n] = limit, each, 2 * kind + way
                n += 1
    mix = _merge(n, room, mixes, needs, table, scratch)
    _settle(n, width, needs, table, scratch)
    return n, mix


@inlined
def _merge(n: int, room: Ints, mixes: Floats, needs: Ints, table: Ints, scratch: Floats) -> int:
    """Find weights and order of the mix under which fractions are worth least."""
    need, limits, gains = needs[UNSORTED], table[LIMITS], table[GAINS]
    order, best, key = table[ORDER], table[BEST_ORDER], scratch[KEY]
    heavy, lightest = scratch[HEAVY], scratch[LIGHTEST]
    lowest, chosen = np.inf, 0
    for mix in range(mixes.shape[0]):
        for e in range(n):
            weight = LEAST_WEIGHT
            for d in range(room.shape[0]):
                if room[d] > 0:
                    weight += mixes[mix, d] * need[e, d] / room[d]
            heavy[e] = weight
            key[e] = -gains[e] / weight
            order[e] = e
        _sort(n, key, order, table[TAKEN], table[PATH])
        free, found = 1.0, 0.0
        for place in range(n):
            e = order[place]
            if heavy[e] * limits[e] > free:
                found += gains[e] * free / heavy[e]
                break
            free -= heavy[e] * limits[e]
            found += gains[e] * limits[e]
        if found < lowest:
            lowest, chosen = found, mix
            for e in range(n):
                lightest[e], best[e] = heavy[e], order[e]
    return chosen


@inlined
def _sort(n: int, key: Floats, order: Ints, lows: Ints, highs: Ints) -> None:
    """Sort ``order`` by ``key``: quicksort by the middle of three, then insertion; ``lows``, ``highs`` are scratch."""
    # Of two parts the larger one waits, so that never more wait than the logarithm of n.
    waiting, lows[0], highs[0] = 1, 0, n - 1
    while waiting > 0:
        waiting -= 1
        low, high = lows[waiting], highs[waiting]
        while high - low >= FEW:
            middle = (low + high) >> 1
            for one, other in ((low, middle), (middle, high), (low, middle)):
                if key[order[other]] < key[order[one]]:
                    order[one], order[other] = order[other], order[one]
            pivot = key[order[middle]]
            order[high], order[middle] = order[middle], order[high]
            i, j = low, high - 1
            while True:
                while i < high and key[order[i]] < pivot:
                    i += 1
                while j >= low and pivot < key[order[j]]:
                    j -= 1
                if i >= j:
                    break
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
            order[i], order[high] = order[high], order[i]
            if high - i > i - low:
                lows[waiting], highs[waiting] = i + 1, high
                high = i - 1
            else:
                lows[waiting], highs[waiting] = low, i - 1
                low = i + 1
            waiting += 1
        for end in range(low + 1, high + 1):
            moved = order[end]
            place = end
            while place > low and key[moved] < key[order[place - 1]]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = moved


@inlined
def _settle(n: int, width: int, needs: Ints, table: Ints, scratch: Floats) -> None:
    """Copy the choices by value per weight, exactly; that is nearly their order."""
    # The bounds in the searches are true only in the order of the rounded weights.
    most, gain, name, weight = table[MOST], table[GAIN], table[NAME], table[WEIGHT]
    for place in range(n):
        e = table[BEST_ORDER, place]
        # Two less than the product: no rounding can have made it too heavy.
        lighter = np.int64(scratch[LIGHTEST, e] * MERGED) - 2
        rounded = lighter if lighter > 0 else 0
        at = place
        while at > 0 and table[GAINS, e] * weight[at - 1] > gain[at - 1] * rounded:
            most[at], gain[at] = most[at - 1], gain[at - 1]
            name[at], weight[at] = name[at - 1], weight[at - 1]
            table[ORDER, at] = table[ORDER, at - 1]
            at -= 1
        most[at], gain[at], name[at] = (table[LIMITS, e], table[GAINS, e], table[NAMES, e])
        weight[at], table[ORDER, at] = rounded, e
    for place in range(n):
        for d in range(width):
            needs[SORTED, place, d] = needs[UNSORTED, table[ORDER, place], d]
