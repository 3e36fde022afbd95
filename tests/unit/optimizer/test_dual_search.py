"""The search for prices in slices of time."""

from __future__ import annotations

import numpy as np

from stowage_optimizer.bounds import DualSearch, Phase, Question, dual_bound
from stowage_optimizer.model.objective import TierScore
from stowage_optimizer.model.packing import Item, Packing
from stowage_optimizer.search.problem import make_problem

NODES = 4
SIZES = (3, 4, 5, 7, 8)


def _question() -> Question:
    """Ask how many of 20 pods of 5 sizes fit on 4 nodes."""
    everywhere = tuple(range(NODES))
    items = tuple(
        Item(f"p{size}-{at}", 0, (size, 11 - size), everywhere, None)
        for size in SIZES
        for at in range(4)
    )
    packing = Packing(("a", "b", "c", "d"), ((17, 17),) * NODES, items, (0,), ())
    return Question(make_problem(packing), 0, Phase.PLACE, (TierScore(0, 0, 0),))


def _nowhere() -> np.ndarray:
    return np.full(len(SIZES) * 4, -1)


def test_slices_end_where_one_long_search_ends() -> None:
    """What is known is kept between slices, else short slices would get nowhere."""
    whole = dual_bound(_question(), _nowhere(), clock=lambda: 0.0, deadline=9.0)
    search = DualSearch(_question(), _nowhere(), lambda: 0.0)
    slices = 0
    bound = None
    while not search.finished:
        bound = search.run(9.0, rounds=1)
        slices += 1

    assert whole is not None
    assert bound is not None
    assert bound.value == whole.value
    assert slices > 1


def test_a_search_that_is_late_from_the_start_says_nothing() -> None:
    """No time is no excuse for a guess."""
    search = DualSearch(_question(), _nowhere(), lambda: 5.0)

    assert search.run(4.0) is None
    assert not search.finished


def test_what_is_good_enough_ends_the_search() -> None:
    """A bound that meets what is reached is all that a proof needs."""
    search = DualSearch(_question(), _nowhere(), lambda: 0.0)

    bound = search.run(9.0, good_enough=20)

    assert bound is not None
    assert bound.value <= 20
    assert not search.finished


def test_polishing_goes_on_after_the_bound_is_final() -> None:
    """Enumeration needs tight prices more than a lower whole number."""
    search = DualSearch(_question(), _nowhere(), lambda: 0.0)
    first = search.run(9.0)
    assert search.finished

    second = search.run(9.0, polish=True)

    assert first is not None
    assert second is not None
    assert second.value == first.value
    assert search.finished
