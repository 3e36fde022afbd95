"""The best content of each node at given prices: a bounded knapsack, compiled.

All values are integers, and so is every comparison that cuts a branch off. The
multipliers that merge the dimensions into one are floating point; the weights made of
them are rounded down and the room up, so that whatever they are the merged knapsack
admits everything that fits.
"""

import numpy as np

from stowage_optimizer.bounds.density_order import (
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
from stowage_optimizer.model.problem import Indices, Ints
from stowage_optimizer.search.compiling import compiled, inlined


def best_patterns(
    demand: Ints, room: Ints, stay: Indices, come: Indices, value: Ints, bonus: Ints, mixes: Floats,
    alike: Indices, mix_of: Ints, slack: int, budget: int, worth: Ints, best: Indices,
) -> None:  # fmt: skip
    """Find the most valuable pattern of each group, or at least a bound on it.

    Parameters
    ----------
    demand, room, stay, come
        As in `Groups`; stay and come have shape ``(groups, kinds)``.
    value, bonus
        Value of a pod, and what it is worth more at home, by kind; below 2^34.
    mixes
        Shares of the dimensions to try, the same of all groups or those of each, shape
        ``(1, mixes, dimensions)`` or ``(groups, mixes, dimensions)``.
    alike
        Groups for which the same mix is good have the same number here, shape
        ``(groups,)``.
    mix_of
        In and out: the mix that suits groups of that number at these values, negative
        where it is to be found. One is tried then, not all of them.
    slack
        By how much a pattern may fall short of the best one.
    budget
        Steps that a group may take before it is cut off.
    worth
        Out: the bound on each group's value, shape ``(groups,)``. What ``best`` is
        worth lies at most ``slack`` below it, unless the group was cut off.
    best
        Out: the pattern, how many stay and come, shape ``(groups, kinds, 2)``.
    """
    kinds, width = demand.shape
    _best_patterns(
        demand, room, stay, come, value, bonus, mixes, alike, mix_of, slack, budget,
        worth, best, np.empty(2 * kinds, np.int64), np.empty(width, np.int64),
        np.empty((MOST_HEAVY, 4 + width), np.int64), np.empty((2, kinds), np.int32),
        *make_tables(kinds, width),
    )  # fmt: skip


MOST_HEAVY = 12
"""Heavy choices at most; they are tried in pairs."""

AMOUNT, WORTH, WHICH, USED, NEED = range(5)
"""Columns of the heavy choices: number, value, name, how many are taken, demand."""

NO_LIMIT = 2**62
"""Above any value: what is returned where the steps ran out before all was tried."""

LISTING = 4
"""Steps that a choice costs for each mix that is tried, when choices are listed."""


@compiled
def _best_patterns(
    demand: Ints, room: Ints, stay: Indices, come: Indices, value: Ints, bonus: Ints,
    mixes: Floats, alike: Indices, mix_of: Ints, slack: int, budget: int, worth: Ints,
    best: Indices, chosen: Ints, left: Ints, heavy: Ints, light: Indices, needs: Ints,
    table: Ints, scratch: Floats,
) -> None:  # fmt: skip
    for group in range(room.shape[0]):
        known, own = mix_of[alike[group]], mixes[group % mixes.shape[0]]
        tried = own if known < 0 else own[known : known + 1]
        n, mix = list_choices(
            demand, room[group], stay[group], come[group], value, bonus, 0, tried,
            needs, table, scratch,
        )  # fmt: skip
        if known < 0 and n > 0:
            mix_of[alike[group]] = mix
        for d in range(len(left)):
            left[d] = room[group, d]
        worth[group], record, steps = _search(n, needs[SORTED], table, left, 0, 0, slack, 0, budget, chosen)
        _write(n, table, chosen, best[group])
        n_heavy = 0
        if steps > budget:
            for kind in range(demand.shape[0]):
                light[0, kind], light[1, kind] = stay[group, kind], come[group, kind]
            n_heavy = _list_heavy(n, needs[SORTED], table, heavy, light)
        if n_heavy > 0:
            bound = _search_beside(
                n_heavy, heavy, demand, room[group], light, value, bonus, own, left,
                record, slack, budget, best[group], chosen, needs, table, scratch,
            )  # fmt: skip
            worth[group] = min(worth[group], bound)


@inlined
def _list_heavy(n: int, need: Ints, table: Ints, heavy: Ints, light: Indices) -> int:
    """List the choices of which three are too heavy for a node; return how many there are."""
    n_heavy = 0
    for e in range(n):
        if 3 * table[WEIGHT, e] > MERGED + 2:
            if n_heavy == heavy.shape[0]:
                # Of so many, few go together, and the search gets through.
                return 0
            name = table[NAME, e]
            heavy[n_heavy, AMOUNT], heavy[n_heavy, WORTH] = table[MOST, e], table[GAIN, e]
            heavy[n_heavy, WHICH] = name
            for d in range(need.shape[1]):
                heavy[n_heavy, NEED + d] = need[e, d]
            light[name & 1, name >> 1] = 0
            n_heavy += 1
    return n_heavy


@inlined
def _search_beside(
    n_heavy: int, heavy: Ints, demand: Ints, room: Ints, light: Indices, value: Ints,
    bonus: Ints, mixes: Floats, left: Ints, record: int, slack: int, budget: int,
    best: Indices, chosen: Ints, needs: Ints, table: Ints, scratch: Floats,
) -> int:  # fmt: skip
    """Return a bound on the value of any choice, and improve ``best``."""
    # A fraction of a pod that fills half of a node is worth much, and none can be had: so
    # two, one or none of the heavy choices are taken, and what else fits is searched in the
    # room that is left. What is dense there may be something else than in all of it.
    worth, steps = record, 0
    for one in range(n_heavy - 1, -2, -1):
        for two in range(one if one >= 0 else -1, -2, -1):
            now, fits = 0, True
            for d in range(len(room)):
                left[d] = room[d]
            for h in range(n_heavy):
                used = (one == h) + (two == h)
                heavy[h, USED] = used
                fits &= used <= heavy[h, AMOUNT]
                now += used * heavy[h, WORTH]
                for d in range(len(room)):
                    left[d] -= used * heavy[h, NEED + d]
                    fits &= left[d] >= 0
            if not fits:
                continue
            if steps > budget:
                return NO_LIMIT
            n, _ = list_choices(
                demand, left, light[0], light[1], value, bonus, 0, mixes, needs,
                table, scratch,
            )  # fmt: skip
            steps += LISTING * n * mixes.shape[0]
            bound, found, steps = _search(
                n, needs[SORTED], table, left, now, record, slack, steps, budget,
                chosen,
            )  # fmt: skip
            worth = max(worth, bound)
            if found > record:
                record = found
                _write(n, table, chosen, best)
                for h in range(n_heavy):
                    name = heavy[h, WHICH]
                    best[name >> 1, name & 1] = heavy[h, USED]
    return worth


@inlined
def _write(n: int, table: Ints, chosen: Ints, best: Indices) -> None:
    """Write down by kind what is chosen."""
    for kind in range(best.shape[0]):
        best[kind, 0] = best[kind, 1] = 0
    for e in range(n):
        name = table[NAME, e]
        best[name >> 1, name & 1] = chosen[e]


@inlined
def _search(
    n: int, need: Ints, table: Ints, left: Ints, now: int, record: int, slack: int,
    steps: int, budget: int, chosen: Ints,
) -> tuple[int, int, int]:  # fmt: skip
    """Search beside what is worth ``now``; return a bound, the best, ``chosen`` if above ``record``, and the steps."""
    # Depth first: as many as fit of the densest, then one less, and so on. Where the steps
    # run out, the bound is what fractions are worth.
    most, gain, weight = table[MOST], table[GAIN], table[WEIGHT]
    taken, path, width = table[TAKEN], table[PATH], len(left)
    for e in range(n):
        taken[e] = chosen[e] = 0
    merged, top = MERGED + 2, -1
    depth, k = 0, 0
    while True:
        bound, rest, e = now, merged, k
        while e < n:
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
            elif e == k:
                k += 1
            e += 1
        if top < 0:
            top = bound
        steps += e - k + 4
        if now > record:
            record = now
            for e in range(n):
                chosen[e] = taken[e]
        if steps > budget:
            return top, record, steps
        if bound > record + slack:
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
            return min(top, record + slack), record, steps
        k = path[depth - 1]
        taken[k] -= 1
        for d in range(width):
            left[d] += need[k, d]
        merged += weight[k]
        now -= gain[k]
        k += 1
