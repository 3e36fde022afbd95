"""The best content of a node, against trying every content."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stowage_optimizer.bounds.groups import mixes_of
from stowage_optimizer.bounds.pricing import best_patterns

WIDTH = 2
KINDS = 3

amounts = st.lists(st.integers(0, 3), min_size=KINDS, max_size=KINDS)
values = st.lists(st.integers(-5, 9), min_size=KINDS, max_size=KINDS)


def _best(
    demand: np.ndarray, room: np.ndarray, most: np.ndarray, value: np.ndarray
) -> int:
    best = 0
    for pattern in product(*(range(limit + 1) for limit in most)):
        if (np.array(pattern) @ demand <= room).all():
            best = max(best, int(np.array(pattern) @ value))
    return best


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    demand=st.lists(st.integers(0, 5), min_size=6, max_size=6),
    room=st.lists(st.integers(0, 12), min_size=2, max_size=2),
    stay=amounts,
    come=amounts,
    value=values,
    bonus=st.integers(0, 4),
    slack=st.sampled_from([0, 3]),
    budget=st.sampled_from([1, 20, 10**6]),
)
def test_no_content_of_a_node_is_worth_more_than_its_limit(
    *,
    demand: list[int],
    room: list[int],
    stay: list[int],
    come: list[int],
    value: list[int],
    bonus: int,
    slack: int,
    budget: int,
) -> None:
    """The whole bound rests on this, also where the search is cut off.

    What is found must be a content that fits, so that the linear program stays true.
    """
    kinds = np.array(demand).reshape(KINDS, WIDTH)
    worth, found = np.zeros(1, np.int64), np.zeros((1, KINDS, 2), np.int32)

    best_patterns(
        kinds,
        np.array([room]),
        np.array([stay], np.int32),
        np.array([come], np.int32),
        np.array(value),
        np.full(KINDS, bonus),
        mixes_of(kinds, np.array([room])),
        slack,
        budget,
        worth,
        found,
    )

    twice = np.vstack([kinds, kinds])
    prices = np.array([*(one + bonus for one in value), *value])
    best = _best(twice, np.array(room), np.array([*stay, *come]), prices)
    pattern = found[0].T.reshape(-1)
    assert worth[0] >= best
    assert (pattern @ twice <= room).all()
    assert (pattern <= [*stay, *come]).all()
    if budget > 20:
        assert pattern @ prices >= worth[0] - slack
        assert worth[0] <= best + slack
