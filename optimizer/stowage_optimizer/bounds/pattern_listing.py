"""Every content of a node that is worth so much at given prices, compiled."""

import numpy as np

from stowage_optimizer.bounds.density_order import (
    GAIN,
    MERGED,
    MOST,
    NAME,
    SORTED,
    TAKEN,
    WEIGHT,
    Floats,
    list_choices,
    make_tables,
)
from stowage_optimizer.model.problem import Indices, Ints
from stowage_optimizer.search.compiling import compiled


def list_patterns(
    demand: Ints, room: Ints, stay: Indices, come: Indices, value: Ints, bonus: Ints, mixes: Floats, least: int,
    loss: int, budget: int, found: Indices,
) -> int:  # fmt: skip
    """List the patterns of one node that are worth ``least`` or more.

    Parameters
    ----------
    demand, value, bonus, mixes
        As in `best_patterns`.
    room, stay, come
        Of one group, shapes ``(dimensions,)``, ``(kinds,)`` and ``(kinds,)``.
    loss
        What a single pod may cost at most; larger by one than any that can matter.
    budget
        Steps to take at most.
    found
        Out: the patterns, shape ``(most, kinds, 2)``.

    Returns
    -------
    Number of patterns; negative if there are too many or they take too long to find.
    """
    kinds, width = demand.shape
    return _list_patterns(
        demand, room, stay, come, value, bonus, mixes, least, loss, budget, found,
        np.empty(width, np.int64), *make_tables(kinds, width),
    )  # fmt: skip


@compiled
def _list_patterns(
    demand: Ints, room: Ints, stay: Indices, come: Indices, value: Ints, bonus: Ints,
    mixes: Floats, least: int, loss: int, budget: int, found: Indices, left: Ints,
    needs: Ints, table: Ints, scratch: Floats,
) -> int:  # fmt: skip
    n, _ = list_choices(demand, room, stay, come, value, bonus, -loss, mixes, needs, table, scratch)
    need, width, taken = needs[SORTED], len(left), table[TAKEN]
    most, gain, which = table[MOST], table[GAIN], table[NAME]
    weight = table[WEIGHT]
    for d in range(width):
        left[d] = room[d]
    for e in range(n):
        taken[e] = 0
    merged, now = MERGED + 2, 0
    number, steps, k = 0, 0, 0
    while True:
        bound, rest, e = now, merged, k
        while e < n and gain[e] > 0:
            fits = True
            for d in range(width):
                if need[e, d] > left[d]:
                    fits = False
            if fits and weight[e] * most[e] > rest:
                bound += gain[e] * rest // weight[e]
                break
            if fits:
                rest -= weight[e] * most[e]
                bound += gain[e] * most[e]
            e += 1
        steps += e - k + 4
        if steps > budget:
            return -1
        if bound >= least and k == n:
            if number == len(found):
                return -1
            for kind in range(demand.shape[0]):
                found[number, kind, 0] = found[number, kind, 1] = 0
            for i in range(n):
                found[number, which[i] >> 1, which[i] & 1] = taken[i]
            number += 1
        elif bound >= least:
            amount = most[k]
            for d in range(width):
                if need[k, d] > 0 and left[d] // need[k, d] < amount:
                    amount = left[d] // need[k, d]
            taken[k] = amount
            for d in range(width):
                left[d] -= amount * need[k, d]
            merged -= amount * weight[k]
            now += amount * gain[k]
            k += 1
            continue
        while k > 0 and taken[k - 1] == 0:
            k -= 1
        if k == 0:
            return number
        taken[k - 1] -= 1
        for d in range(width):
            left[d] += need[k - 1, d]
        merged += weight[k - 1]
        now -= gain[k - 1]
