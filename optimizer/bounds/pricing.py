"""The best content of each node at given prices: a bounded knapsack, compiled.

All values are integers, and so is every comparison that cuts a branch off. The
multipliers that merge the dimensions into one are floating point; the weights made of
them are rounded down and the room up, so that whatever they are the merged knapsack
admits everything that fits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from optimizer.bounds.compiling import allocating
from optimizer.search.problem import Indices, Ints

Floats = NDArray[np.float64]

MERGED = 1 << 24
"""Room of a node in the merged dimension."""

FEATHER = 1e-12
"""Weight of what weighs nothing, so that it can be divided by."""


@allocating
def best_patterns(
    demand: Ints,
    room: Ints,
    stay: Indices,
    come: Indices,
    value: Ints,
    bonus: Ints,
    mixes: Floats,
    slack: int,
    budget: int,
    worth: Ints,
    best: Indices,
) -> int:
    """Find the most valuable pattern of each group, or at least a limit on it.

    Parameters
    ----------
    demand, room, stay, come
        As in `Groups`; stay and come have shape ``(groups, kinds)``.
    value, bonus
        Value of a pod, and what it is worth more at home, by kind; below 2^34.
    mixes
        Shares of the dimensions to try, shape ``(mixes, dimensions)``.
    slack
        By how much a pattern may fall short of the best one.
    budget
        Steps that a group may take before it is cut off.
    worth
        Out: the limit on each group's value, shape ``(groups,)``. What ``best`` is
        worth lies at most ``slack`` below it, unless the group was cut off.
    best
        Out: the pattern, how many stay and come, shape ``(groups, kinds, 2)``.

    Returns
    -------
    Steps taken.
    """
    total = 0
    chosen = np.zeros(2 * demand.shape[0], np.int64)
    for group in range(room.shape[0]):
        need, most, gain, which = options(
            demand, room[group], stay[group], come[group], value, bonus, 0
        )
        heavy = lightest(need, most, gain, room[group], mixes)
        weight = merged_weights(heavy)
        order = np.argsort(-gain / heavy)
        need, most, gain = need[order], most[order], gain[order]
        which, weight = which[order], weight[order]
        settle_order(need, most, gain, which, weight)
        left = room[group].copy()
        steps, worth[group] = _search(
            need, most, gain, weight, left, slack, budget, chosen
        )
        best[group] = 0
        for e in range(len(gain)):
            best[group, which[e] >> 1, which[e] & 1] = chosen[e]
        total += steps + 4 * len(gain) * len(mixes)
    return total


@allocating
def options(
    demand: Ints,
    room: Ints,
    stay: Indices,
    come: Indices,
    value: Ints,
    bonus: Ints,
    least: int,
) -> tuple[Ints, Ints, Ints, Ints]:
    """Return demand, number, value and name of each choice above ``least``."""
    kinds, width = demand.shape
    need = np.empty((2 * kinds, width), np.int64)
    most = np.empty(2 * kinds, np.int64)
    gain = np.empty(2 * kinds, np.int64)
    which = np.empty(2 * kinds, np.int64)
    n = 0
    for kind in range(kinds):
        fit = np.int64(1) << 40
        for d in range(width):
            if demand[kind, d] > 0:
                fit = min(fit, room[d] // demand[kind, d])
        for way in range(2):
            limit = min(fit, stay[kind] if way == 0 else come[kind])
            each = value[kind] + (bonus[kind] if way == 0 else 0)
            if limit > 0 and each > least:
                need[n] = demand[kind]
                most[n] = limit
                gain[n] = each
                which[n] = 2 * kind + way
                n += 1
    return need[:n], most[:n], gain[:n], which[:n]


@allocating
def lightest(need: Ints, most: Ints, gain: Ints, room: Ints, mixes: Floats) -> Floats:
    """Return merged weights of the mix under which fractions are worth least."""
    n, width = need.shape
    heavy, lightest = np.empty(n), np.empty(n)
    lowest = np.inf
    for mix in mixes:
        for e in range(n):
            heavy[e] = FEATHER
            for d in range(width):
                if room[d] > 0:
                    heavy[e] += mix[d] * need[e, d] / room[d]
        free, found = 1.0, 0.0
        for e in np.argsort(-gain / heavy):
            if heavy[e] * most[e] > free:
                found += gain[e] * free / heavy[e]
                break
            free -= heavy[e] * most[e]
            found += gain[e] * most[e]
        if found < lowest:
            lowest = found
            lightest[:] = heavy
    return lightest


@allocating
def merged_weights(heavy: Floats) -> Ints:
    """Return the weights as parts of `MERGED`, rounded down."""
    weight = np.zeros(len(heavy), np.int64)
    for e in range(len(heavy)):
        # Two less than the product: no rounding can have made it too heavy.
        rounded = np.int64(heavy[e] * MERGED) - 2
        weight[e] = rounded if rounded > 0 else 0
    return weight


@allocating
def settle_order(need: Ints, most: Ints, gain: Ints, which: Ints, weight: Ints) -> None:
    """Sort by value per weight, exactly; it is nearly sorted already.

    The limits in the search are true only in the order of the rounded weights.
    """
    for end in range(1, len(gain)):
        e = end
        while e > 0 and gain[e] * weight[e - 1] > gain[e - 1] * weight[e]:
            gain[e], gain[e - 1] = gain[e - 1], gain[e]
            weight[e], weight[e - 1] = weight[e - 1], weight[e]
            most[e], most[e - 1] = most[e - 1], most[e]
            which[e], which[e - 1] = which[e - 1], which[e]
            for d in range(need.shape[1]):
                need[e, d], need[e - 1, d] = need[e - 1, d], need[e, d]
            e -= 1


@allocating
def _search(
    need: Ints,
    most: Ints,
    gain: Ints,
    weight: Ints,
    left: Ints,
    slack: int,
    budget: int,
    chosen: Ints,
) -> tuple[int, np.int64]:
    """Search depth first: as many as fit of the densest, then one less, and so on.

    Returns the steps taken and a limit on the value of any choice.
    """
    n, width = need.shape
    taken, path = np.zeros(n, np.int64), np.empty(n + 1, np.int64)
    merged, now, record, top = (
        np.int64(MERGED + 2),
        np.int64(0),
        np.int64(0),
        np.int64(0),
    )
    depth, k, steps = 0, 0, 0
    chosen[:] = 0
    while True:
        limit, rest, e = now, merged, k
        while e < n:
            fits = True
            for d in range(width):
                if need[e, d] > left[d]:
                    fits = False
            if fits and weight[e] * most[e] > rest:
                limit += gain[e] * rest // weight[e]
                break
            if fits:
                rest -= weight[e] * most[e]
                limit += gain[e] * most[e]
            elif e == k:
                k += 1
            e += 1
        top = max(top, limit) if steps == 0 else top
        steps += e - k + 4
        if now > record:
            record = now
            chosen[:n] = taken
        if steps > budget:
            return steps, top
        if limit > record + slack:
            amount = most[k]
            for d in range(width):
                if need[k, d] > 0:
                    amount = min(amount, left[d] // need[k, d])
            taken[k] = amount
            for d in range(width):
                left[d] -= amount * need[k, d]
            merged -= amount * weight[k]
            now += amount * gain[k]
            path[depth] = k
            depth += 1
            k += 1
            continue
        while depth > 0 and taken[path[depth - 1]] == 0:
            depth -= 1
        if depth == 0:
            return steps, min(top, record + slack)
        k = path[depth - 1]
        taken[k] -= 1
        for d in range(width):
            left[d] += need[k, d]
        merged += weight[k]
        now -= gain[k]
        k += 1
