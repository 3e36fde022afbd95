"""What the bounds' compiled code must do whatever it is compiled for."""

from __future__ import annotations

import numpy as np
import pytest
from checked_indices import run_with_checked_indices

from stowage_optimizer.bounds.groups import mixes_of
from stowage_optimizer.bounds.listing import list_patterns
from stowage_optimizer.bounds.pricing import best_patterns

MANY, FEW = 24, 1
"""Kinds: so many that parts of them are sorted apart, and so few that none are."""


def best_content(kinds: int, dimensions: int, seed: int) -> int:
    """Find the best pattern of a random node, list all as good; return how many."""
    random = np.random.default_rng(seed)
    demand = random.integers(0, 5, (kinds, dimensions))
    room = random.integers(0, 12, (1, dimensions))
    stay, come = random.integers(0, 3, (2, 1, kinds), np.int32)
    value, bonus = random.integers(-1, 5, kinds), np.ones(kinds, np.int64)
    mixes, worth = mixes_of(demand, room), np.zeros(1, np.int64)
    best, found = np.zeros((2, 50, kinds, 2), np.int32)

    best_patterns(
        demand, room, stay, come, value, bonus, mixes, 0, 10**5, worth, best[:1]
    )
    return list_patterns(
        demand, room[0], stay[0], come[0], value, bonus, mixes, int(worth[0]), 1,
        10**5, found,
    )  # fmt: skip


def test_no_index_is_out_of_bounds(pytestconfig: pytest.Config) -> None:
    """Compiled code reads and writes outside its tables without an error."""
    assert pytestconfig.cache is not None
    run_with_checked_indices(
        "from test_pricing import FEW, MANY, best_content\n"
        "for seed in range(4):\n"
        "    for kinds in (FEW, MANY):\n"
        "        best_content(kinds, 1 + seed, seed)\n",
        __file__,
        pytestconfig.cache,
    )


def test_the_best_content_is_listed_where_it_was_found_in_time() -> None:
    """Listing starts from what the search says the best is worth."""
    for seed in range(20):
        for kinds in (FEW, MANY):
            assert best_content(kinds, 2, seed) != 0
