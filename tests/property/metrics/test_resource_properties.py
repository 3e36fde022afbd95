"""What holds of any amounts of resources."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from stowage_testbed.amounts.message import message_of, resources_of
from stowage_testbed.amounts.resources import Resources, add_up, names_of, order, parse_all, spell

NAMES = ("cpu", "memory", "pods", "ephemeral-storage", "hugepages-2Mi", "x.io/gpu")

amounts = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 10**15))
some = amounts.map(Resources)


@given(amounts, st.randoms(use_true_random=False))
def test_neither_order_nor_zeros_make_a_difference(plain: dict[str, int], draw: random.Random) -> None:
    """Equal pods are one kind, wherever their requests were read."""
    names = list(plain)
    draw.shuffle(names)
    again = Resources({**{name: plain[name] for name in names}, "x.io/none": 0})

    assert again == Resources(plain)
    assert hash(again) == hash(Resources(plain))
    assert list(again) == order(name for name, amount in plain.items() if amount)
    assert all(again[name] == plain.get(name, 0) for name in NAMES)


@given(st.lists(some, max_size=6))
def test_a_total_is_the_sum_of_its_parts(parts: list[Resources]) -> None:
    """Whatever is counted together is counted once, and can be taken away again."""
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(part)

    assert add_up(parts) == sum(parts, Resources()) == Resources(counts)
    assert set(names_of(parts)) == {"cpu", "memory", *add_up(parts)} - {"pods"}
    for part in parts:
        assert add_up(parts) + part - add_up(parts) == part


@given(some, some, some)
def test_what_fits_leaves_no_less_than_nothing(asked: Resources, room: Resources, taken: Resources) -> None:
    """It fits exactly where, of all that it asks for, enough is left."""
    left = room - taken

    fits = asked.fits(left)

    assert fits == all((left - asked)[name] >= 0 for name in asked)
    assert asked.fits(asked)
    assert not fits or asked.fits(left + room)


@given(some)
def test_amounts_are_read_as_they_are_written(resources: Resources) -> None:
    """In objects, in scenarios, and in the optimiser's contract."""
    spelt = {name: spell(name, amount) for name, amount in resources.items()}

    assert Resources.of_list(resources.quantities()) == resources
    assert parse_all(spelt) == resources
    assert resources_of(message_of(resources)) == resources
