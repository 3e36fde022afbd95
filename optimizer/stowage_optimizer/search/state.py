"""What the local search changes, in a few tables allocated once.

Compiled functions are handed arrays one by one, and each costs time at every call. So
what belongs to an item or a node is one row of one table. Random numbers come from
xorshift64, its state in one word.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowage_optimizer.model.problem import NOWHERE, Indices, Ints
from stowage_optimizer.search.compiling import inlined
from stowage_optimizer.search.search_arrays import Floats, SearchArrays

RandomGenerator = NDArray[np.uint64]
"""State of a generator, shape ``(1,)``, never 0."""

_GOLDEN = 0x9E3779B97F4A7C15
_WORD = 2**64 - 1


def make_generator(seed: int) -> RandomGenerator:
    """Return a generator; different seeds give unrelated sequences."""
    word = (seed + 1) * _GOLDEN & _WORD
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & _WORD
    return np.array([(word ^ (word >> 27)) or _GOLDEN], np.uint64)


@inlined
def random_bits(rng: RandomGenerator) -> int:
    """Return a number of 32 random bits."""
    word = rng[0]
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    rng[0] = word
    # Not int(), which would keep it unsigned and make floats of mixed sums.
    return np.int64(word >> np.uint64(32))  # type: ignore[return-value]


@inlined
def below(rng: RandomGenerator, limit: int) -> int:
    """Return an integer in [0, ``limit``)."""
    return (random_bits(rng) * limit) >> 32


@inlined
def uniform(rng: RandomGenerator) -> float:
    """Return a number in [0, 1)."""
    return random_bits(rng) * (1.0 / 4294967296.0)


NODE, HOME, TIER, MASK, AFTER, BEFORE, WAITS_AT, IS_DIRTY, BEST, WORTH = range(10)
"""Columns of `State.items`."""

FIRST, COUNT, CHOSEN = range(3)
"""Columns of `State.nodes`."""

TAKEN, ORIGIN, ORDER = range(3)
"""Columns of `State.repair_set`."""

WAITING, MOVED, DIRTY = range(3)
"""Rows of `State.lists`, and where their lengths are in `State.counters`."""

IMPROVED, STOP = 3, 4
"""Further places in `State.counters`: improvements so far, and a request to stop."""

KEPT, PLACED, STABILITY = range(3)
"""Places in a tier's value."""

MOST_NODES = 4
"""Nodes of the largest neighbourhood."""


class State(NamedTuple):
    """The search's current solution, its best one, and scratch space.

    Parameters
    ----------
    items
        Shape ``(items, 10)``: node now, home, tier, mask, neighbours in the node's
        list, place among the waiting, whether it differs from the best solution, node in
        the best solution, and what placing it counts.
    nodes
        Shape ``(nodes, 3)``: first item, number of items, whether it is in the
        current neighbourhood.
    free
        Room left, shape ``(nodes, width)``.
    lists
        Shape ``(3, items)``: items that wait, that were away from home lately, and
        that differ from the best solution.
    repair_set
        Shape ``(items, 3)``: the items to place anew, their node before, their order.
    key
        Key of that order, shape ``(items,)``.
    delta
        Change by tier, shape ``(tiers, 3)``.
    value, best_value
        Of the tier that is searched: ``KEPT``, ``PLACED`` and ``STABILITY``.
    goal
        Proved limits on the value; other threads may lower them.
    counters
        Lengths of the lists, improvements, and whether to stop.
    selected
        Nodes of the current neighbourhood, shape ``(4,)``.
    """

    items: Indices
    nodes: Indices
    free: Ints
    lists: Indices
    repair_set: Indices
    key: Floats
    delta: Ints
    value: Ints
    best_value: Ints
    goal: Ints
    counters: Ints
    selected: Indices
    rng: RandomGenerator

    @property
    def best(self) -> Indices:
        """Node by item in the best solution, a copy of shape ``(items,)``."""
        return self.items[:, BEST].copy()


def make_state(arrays: SearchArrays, tiers: int, seed: int) -> State:
    """Return an empty state; `enter` fills it."""
    items, nodes = len(arrays.home), len(arrays.room)
    table = np.full((items, 10), NOWHERE, np.int32)
    table[:, HOME] = arrays.home
    table[:, TIER] = arrays.tier
    table[:, MASK] = arrays.mask
    table[:, WORTH] = arrays.worth
    return State(
        items=table,
        nodes=np.zeros((nodes, 3), np.int32),
        free=arrays.room.copy(),
        lists=np.zeros((3, items), np.int32),
        repair_set=np.zeros((items, 3), np.int32),
        key=np.zeros(items, np.float64),
        delta=np.zeros((max(1, tiers), 3), np.int64),
        value=np.zeros(3, np.int64),
        best_value=np.zeros(3, np.int64),
        goal=np.zeros(3, np.int64),
        counters=np.zeros(5, np.int64),
        selected=np.zeros(MOST_NODES, np.int32),
        rng=make_generator(seed),
    )
