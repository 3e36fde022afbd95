"""The best content of each node at given prices: a bounded knapsack, compiled.

All values are integers, and so is every comparison that cuts a branch off. The
multipliers that merge the dimensions into one are floating point; the weights made of
them are rounded down and the room up, so that whatever they are the merged knapsack
admits everything that fits.
"""

from __future__ import annotations

import numpy as np

from stowage_optimizer.bounds.choices import (
    GAIN,
    MERGED,
    MOST,
    NAME,
    PATH,
    SORTED,
    TAKEN,
    WEIGHT,
    Floats,
    list_choices,
    make_tables,
)
from stowage_optimizer.search.compiling import compiled, inlined
from stowage_optimizer.search.problem import Indices, Ints


def best_patterns(
    demand: Ints,
    room: Ints,
    stay: Indices,
    come: Indices,
    value: Ints,
    bonus: Ints,
    mixes: Floats,
    alike: Indices,
    mix_of: Ints,
    slack: int,
    budget: int,
    worth: Ints,
    best: Indices,
) -> None:
    """Find the most valuable pattern of each group, or at least a limit on it.

    Parameters
    ----------
    demand, room, stay, come
        As in `Groups`; stay and come have shape ``(groups, kinds)``.
    value, bonus
        Value of a pod, and what it is worth more at home, by kind; below 2^34.
    mixes
        Shares of the dimensions to try, shape ``(mixes, dimensions)``.
    alike
        Groups with the same room have the same number here, shape ``(groups,)``.
    mix_of
        In and out: the mix that suits groups of that number at these values, negative
        where it is to be found. One is tried then, not all of them.
    slack
        By how much a pattern may fall short of the best one.
    budget
        Steps that a group may take before it is cut off.
    worth
        Out: the limit on each group's value, shape ``(groups,)``. What ``best`` is
        worth lies at most ``slack`` below it, unless the group was cut off.
    best
        Out: the pattern, how many stay and come, shape ``(groups, kinds, 2)``.
    """
    kinds, width = demand.shape
    _best_patterns(
        demand, room, stay, come, value, bonus, mixes, alike, mix_of, slack, budget,
        worth, best, np.empty(2 * kinds, np.int64), np.empty(width, np.int64),
        *make_tables(kinds, width),
    )  # fmt: skip


@compiled
def _best_patterns(
    demand: Ints, room: Ints, stay: Indices, come: Indices, value: Ints, bonus: Ints,
    mixes: Floats, alike: Indices, mix_of: Ints, slack: int, budget: int, worth: Ints,
    best: Indices, chosen: Ints, left: Ints, needs: Ints, table: Ints, scratch: Floats,
) -> None:  # fmt: skip
    for group in range(room.shape[0]):
        known = mix_of[alike[group]]
        tried = mixes if known < 0 else mixes[known : known + 1]
        n, mix = list_choices(
            demand, room[group], stay[group], come[group], value, bonus, 0, tried,
            needs, table, scratch,
        )  # fmt: skip
        if known < 0:
            mix_of[alike[group]] = mix
        for d in range(len(left)):
            left[d] = room[group, d]
        worth[group] = _search(n, needs[SORTED], table, left, slack, budget, chosen)
        for kind in range(demand.shape[0]):
            best[group, kind, 0] = best[group, kind, 1] = 0
        for e in range(n):
            name = table[NAME, e]
            best[group, name >> 1, name & 1] = chosen[e]


@inlined
def _search(
    n: int, need: Ints, table: Ints, left: Ints, slack: int, budget: int, chosen: Ints
) -> int:
    """Return a limit on the value of any choice, and fill ``chosen``.

    The search is depth first: as many as fit of the densest, then one less, and so on.
    """
    most, gain, weight = table[MOST], table[GAIN], table[WEIGHT]
    taken, path, width = table[TAKEN], table[PATH], len(left)
    for e in range(n):
        taken[e] = chosen[e] = 0
    merged, now, record, top = MERGED + 2, 0, 0, 0
    depth, k, steps = 0, 0, 0
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
        if steps == 0 and limit > top:
            top = limit
        steps += e - k + 4
        if now > record:
            record = now
            for e in range(n):
                chosen[e] = taken[e]
        if steps > budget:
            return top
        if limit > record + slack:
            amount = most[k]
            for d in range(width):
                if need[k, d] > 0 and left[d] // need[k, d] < amount:
                    amount = left[d] // need[k, d]
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
            return top if top < record + slack else record + slack
        k = path[depth - 1]
        taken[k] -= 1
        for d in range(width):
            left[d] += need[k, d]
        merged += weight[k]
        now -= gain[k]
        k += 1
