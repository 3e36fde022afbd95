"""Ruin and recreate on a few nodes at a time; the cost is that of a few nodes' items.

Two phases, as in Algorithm 1. The first places as many items as possible, led by the
concentration of free room; the second sends moved items home, by simulated annealing.
Tiers above may only get better.
"""

from __future__ import annotations

import math

from stowage_optimizer.search.chance import Dice, below, share
from stowage_optimizer.search.compiling import compiled, inlined
from stowage_optimizer.search.neighbourhood import (
    choose_nodes,
    concentration,
    invite,
    put_back,
    recreate,
    ruin,
    send_home,
    smaller,
    sort_in_hand,
)
from stowage_optimizer.search.problem import Indices, Ints
from stowage_optimizer.search.seating import keep_best, list_moved, settle
from stowage_optimizer.search.state import (
    CALM,
    CHOSEN,
    HOME,
    KEPT,
    NODE,
    ORIGIN,
    PLACED,
    STOP,
    TAKEN,
    TIER,
    State,
)
from stowage_optimizer.search.terrain import Terrain

PLACING, CALMING = range(2)
"""The two phases."""

CHECK = 63
"""Iterations between looks at the goal and at the wish to end, as a mask of bits."""

REFRESH = 4095
"""Iterations between rebuilds of the list of moved items, as a mask of bits."""

HOMEWARD, ELSEWHERE = 9, 2
"""How often in ten an item goes home where it can."""


@compiled
def explore(
    iterations: int, tier: int, phase: int, hot: float, cold: float, terrain: Terrain,
    state: State,
) -> bool:  # fmt: skip
    """Search for ``iterations`` neighbourhoods; tell whether the goal is reached.

    Parameters
    ----------
    tier
        The lowest tier in play.
    phase
        `PLACING` or `CALMING`.
    hot, cold
        Temperatures of the annealing at the first and at the last iteration.
    terrain, state
        The problem, and the search as `enter` or an earlier call left it.
    """
    width, demand, shares = terrain.width, terrain.demand, terrain.shares
    sizes, inverse, binding = terrain.sizes, terrain.inverse, terrain.binding
    allowed, strict = terrain.allowed, terrain.strict
    items, nodes, free, lists = state.items, state.nodes, state.free, state.lists
    hand, key, delta, dice = state.hand, state.key, state.delta, state.dice
    value, best, counters, goal = (
        state.value, state.best_value, state.counters, state.goal,
    )  # fmt: skip
    calming = phase == CALMING
    selected = state.selected
    heat = hot
    before = 0.0
    for iteration in range(iterations):
        if iteration & CHECK == 0:
            heat = hot + (cold - hot) * iteration / iterations
            if counters[STOP] != 0 or _reached(phase, best, goal):
                return True
            if calming and iteration & REFRESH == 0:
                list_moved(tier, items, lists, counters)
        chosen, focus = choose_nodes(
            selected, calming, items, nodes, lists, counters, dice
        )
        if not calming:
            before = concentration(selected, chosen, free, inverse, binding)
        taken = ruin(
            selected, chosen, focus, width, demand, free, items, nodes, hand, dice
        )
        taken = invite(taken, lists, counters, hand, dice)
        sort_in_hand(
            taken, tier, strict, shares, sizes, binding, items, hand, key, dice
        )
        homeward = ELSEWHERE
        if calming or below(dice, 4) == 0:
            homeward = HOMEWARD
            send_home(taken, width, demand, free, items, nodes, hand, dice)
        recreate(
            selected, chosen, taken, homeward, width, demand, shares, inverse, binding,
            allowed, free, items, nodes, hand, dice,
        )  # fmt: skip
        sign = _compare(taken, tier, strict, items, hand, delta)
        if sign == 0 and not calming:
            gain = concentration(selected, chosen, free, inverse, binding) - before
            gain += 1.5 * smaller(taken, sizes, items, hand)
            accepted = _accepts(gain, heat, dice)
        elif sign == 0:
            accepted = _accepts(float(delta[tier, CALM]), heat, dice)
        else:
            accepted = sign > 0
        if accepted:
            for index in range(taken):
                item, origin = hand[index, TAKEN], hand[index, ORIGIN]
                if items[item, NODE] != origin:
                    settle(item, origin, items, lists, counters)
            for part in range(3):
                value[part] += delta[tier, part]
            if sign > 0 or value[CALM] > best[CALM]:
                keep_best(items, lists, counters)
                for part in range(3):
                    best[part] = value[part]
        else:
            put_back(taken, width, demand, free, items, nodes, hand)
        for index in range(chosen):
            nodes[selected[index], CHOSEN] = 0
    return _reached(phase, best, goal)


@inlined
def _reached(phase: int, best: Ints, goal: Ints) -> bool:
    if best[PLACED] < goal[PLACED] or best[KEPT] < goal[KEPT]:
        return False
    return phase == PLACING or best[CALM] >= goal[CALM]


@inlined
def _accepts(gain: float, heat: float, dice: Dice) -> bool:
    return gain >= 0 or share(dice) < math.exp(gain / heat)


@inlined
def _compare(
    taken: int, tier: int, strict: int, items: Indices, hand: Indices, delta: Ints
) -> int:
    """Fill ``delta``; return the sign of the change, disturbance of ``tier`` left out.

    ``KEPT`` counts by tier, ``PLACED`` and ``CALM`` of a tier and all above it.
    """
    for above in range(tier + 1):
        for part in range(3):
            delta[above, part] = 0
    for index in range(taken):
        item, origin = hand[index, TAKEN], hand[index, ORIGIN]
        at = items[item, NODE]
        if at == origin:
            continue
        row, home = items[item, TIER], items[item, HOME]
        placed = int(at >= 0) - int(origin >= 0)
        delta[row, PLACED] += placed
        if home >= 0:
            delta[row, KEPT] += placed * strict
            delta[row, CALM] += placed + 2 * (int(at == home) - int(origin == home))
    sign = 0
    for above in range(tier):
        for part in range(3):
            if sign == 0 and delta[above, part] != 0:
                sign = 1 if delta[above, part] > 0 else -1
        delta[above + 1, PLACED] += delta[above, PLACED]
        delta[above + 1, CALM] += delta[above, CALM]
    if sign == 0:
        sign = delta[tier, KEPT]
    return sign if sign != 0 else delta[tier, PLACED]
