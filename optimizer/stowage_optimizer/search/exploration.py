"""Destroy and repair: a few nodes at a time, at the cost of their items only.

Two phases, as in Algorithm 1. The first places as many items as possible, led by the
concentration of free room; the second returns moved items home, by simulated annealing.
Tiers above may only get better.
"""

import math

from stowage_optimizer.model.problem import Indices, Ints
from stowage_optimizer.search.compiling import compiled, inlined
from stowage_optimizer.search.device_state import SearchBins
from stowage_optimizer.search.neighbourhood import (
    add_waiting,
    choose_nodes,
    concentration,
    destroy,
    put_back,
    repair,
    send_home,
    smaller,
    sort_repair_set,
)
from stowage_optimizer.search.placement import keep_best, list_moved, settle
from stowage_optimizer.search.search_arrays import SearchArrays
from stowage_optimizer.search.state import (
    CHOSEN,
    HOME,
    KEPT,
    NODE,
    ORIGIN,
    PLACED,
    STABILITY,
    STOP,
    TAKEN,
    TIER,
    WORTH,
    RandomGenerator,
    State,
    below,
    uniform,
)

PLACING, STABILISING = range(2)
"""The two phases."""

CHECK = 63
"""Iterations between looks at the goal and at the request to stop, as a bit mask."""

REFRESH = 4095
"""Iterations between rebuilds of the list of moved items, as a bit mask."""

HOME_TENTHS, AWAY_TENTHS = 9, 2
"""Return-home probabilities of `repair`, in tenths."""


@compiled
def explore(
    iterations: int, tier: int, phase: int, hot: float, cold: float,
    arrays: SearchArrays, state: State, bins: SearchBins | None,
) -> bool:  # fmt: skip
    """Search for ``iterations`` neighbourhoods; return whether the goal is reached.

    Parameters
    ----------
    phase
        `PLACING` or `STABILISING`.
    hot, cold
        Temperatures of the annealing at the first and at the last iteration.
    arrays, state
        The problem, and the search as `enter` or an earlier call left it.
    bins
        The devices of the problem, likewise; None if no pod asks for any.
    """
    width, demand, shares = arrays.width, arrays.demand, arrays.shares
    sizes, inverse, binding = arrays.sizes, arrays.inverse, arrays.binding
    allowed, strict = arrays.allowed, arrays.strict
    items, nodes, free, lists = state.items, state.nodes, state.free, state.lists
    repair_set, key, delta, rng = state.repair_set, state.key, state.delta, state.rng
    value, best, counters, goal = (
        state.value, state.best_value, state.counters, state.goal,
    )  # fmt: skip
    stabilising = phase == STABILISING
    selected = state.selected
    heat = hot
    before = 0.0
    for iteration in range(iterations):
        if iteration & CHECK == 0:
            heat = hot + (cold - hot) * iteration / iterations
            if counters[STOP] != 0 or _reached(phase, best, goal):
                return True
            if stabilising and iteration & REFRESH == 0:
                list_moved(tier, items, lists, counters)
        chosen, focus = choose_nodes(selected, stabilising, items, nodes, lists, counters, rng)
        if not stabilising:
            before = concentration(selected, chosen, free, inverse, binding, bins)
        taken = destroy(selected, chosen, focus, width, demand, free, items, nodes, repair_set, rng, bins)
        taken = add_waiting(taken, lists, counters, repair_set, rng)
        sort_repair_set(taken, tier, strict, shares, sizes, binding, items, repair_set, key, rng)
        home_tenths = AWAY_TENTHS
        if stabilising or below(rng, 4) == 0:
            home_tenths = HOME_TENTHS
            send_home(taken, width, demand, free, items, nodes, repair_set, rng, bins)
        repair(
            selected, chosen, taken, home_tenths, width, demand, shares, inverse,
            binding, allowed, free, items, nodes, repair_set, rng, bins,
        )  # fmt: skip
        sign = _compare(taken, tier, strict, items, repair_set, delta)
        if sign == 0 and not stabilising:
            gain = concentration(selected, chosen, free, inverse, binding, bins) - before
            gain += 1.5 * smaller(taken, sizes, items, repair_set)
            accepted = _accepts(gain, heat, rng)
        elif sign == 0:
            accepted = _accepts(float(delta[tier, STABILITY]), heat, rng)
        else:
            accepted = sign > 0
        if accepted:
            for index in range(taken):
                item, origin = repair_set[index, TAKEN], repair_set[index, ORIGIN]
                if items[item, NODE] != origin:
                    settle(item, origin, items, lists, counters)
            for part in range(3):
                value[part] += delta[tier, part]
            if sign > 0 or value[STABILITY] > best[STABILITY]:
                keep_best(items, lists, counters)
                for part in range(3):
                    best[part] = value[part]
        else:
            put_back(taken, width, demand, free, items, nodes, repair_set, bins)
        for index in range(chosen):
            nodes[selected[index], CHOSEN] = 0
    return _reached(phase, best, goal)


@inlined
def _reached(phase: int, best: Ints, goal: Ints) -> bool:
    if best[PLACED] < goal[PLACED] or best[KEPT] < goal[KEPT]:
        return False
    return phase == PLACING or best[STABILITY] >= goal[STABILITY]


@inlined
def _accepts(gain: float, heat: float, rng: RandomGenerator) -> bool:
    return gain >= 0 or uniform(rng) < math.exp(gain / heat)


@inlined
def _compare(taken: int, tier: int, strict: int, items: Indices, repair_set: Indices, delta: Ints) -> int:
    """Fill ``delta``; return the sign of the change, disruption of ``tier`` left out.

    ``KEPT`` counts by tier, ``PLACED`` and ``STABILITY`` of a tier and all above it.
    """
    for above in range(tier + 1):
        for part in range(3):
            delta[above, part] = 0
    for index in range(taken):
        item, origin = repair_set[index, TAKEN], repair_set[index, ORIGIN]
        at = items[item, NODE]
        if at == origin:
            continue
        row, home = items[item, TIER], items[item, HOME]
        placed = int(at >= 0) - int(origin >= 0)
        delta[row, PLACED] += placed * items[item, WORTH]
        if home >= 0:
            delta[row, KEPT] += placed * strict
            delta[row, STABILITY] += placed + 2 * (int(at == home) - int(origin == home))
    sign = 0
    for above in range(tier):
        for part in range(3):
            if sign == 0 and delta[above, part] != 0:
                sign = 1 if delta[above, part] > 0 else -1
        delta[above + 1, PLACED] += delta[above, PLACED]
        delta[above + 1, STABILITY] += delta[above, STABILITY]
    if sign == 0:
        sign = delta[tier, KEPT]
    return sign if sign != 0 else delta[tier, PLACED]
