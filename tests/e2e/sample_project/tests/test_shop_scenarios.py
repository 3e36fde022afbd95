"""Scenarios as tests: they fail with the words of the checks that failed."""

import pytest


@pytest.mark.stowage(scenario="web/scale-up.yaml")
def test_the_shop_scales_up():
    """A scenario that passes needs nothing besides its mark."""


@pytest.mark.stowage(scenario="paper/figure-1")
def test_the_optimiser_makes_room_with_one_move(stowage_outcome):
    """The outcome says more than a scenario can check."""
    assert stowage_outcome.moves == 1
    assert stowage_outcome.evictions == 0
