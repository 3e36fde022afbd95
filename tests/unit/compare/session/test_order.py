"""The order of a comparison's runs."""

from __future__ import annotations

from collections import Counter

from stowage_testbed.compare.session.request import turns

ARMS = ["default", "stowage", "koordinator"]
LIMITS = ["own", "equal"]


def test_every_arm_runs_once_a_round_under_each_kind_of_limits() -> None:
    """Pairs are made of the runs of one round."""
    found = list(turns(LIMITS, ARMS, 4, seed=1))

    assert len({turn.key for turn in found}) == len(found) == 24


def test_a_round_is_over_before_the_next_begins() -> None:
    """What is interrupted has whole rounds, which is what can be judged."""
    numbers = [turn.round_number for turn in turns(LIMITS, ARMS, 3, seed=1)]

    assert numbers == sorted(numbers)


def test_no_arm_has_a_place_of_its_own() -> None:
    """Whoever always came first would always find the quiet machine."""
    found = list(turns(["own"], ARMS, len(ARMS), seed=1))
    places = Counter((n % len(ARMS), turn.arm) for n, turn in enumerate(found))

    assert len(places) == len(ARMS) ** 2
    assert set(places.values()) == {1}


def test_a_seed_gives_one_order_and_seeds_differ_in_who_begins() -> None:
    """An interrupted comparison is resumed as it would have gone on."""
    orders = {seed: list(turns(LIMITS, ARMS, 2, seed)) for seed in range(20)}

    assert orders[3] == list(turns(LIMITS, ARMS, 2, 3))
    assert {order[0].arm for order in orders.values()} == set(ARMS)
