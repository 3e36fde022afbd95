"""Prices are exact whole numbers; only what people read is rounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowage_testbed.amounts.price import (
    MOST_MICROS,
    exact_column,
    exact_price,
    month_in_words,
    parse_price,
    price_in_words,
)
from stowage_testbed.amounts.quantity import QuantityError


@given(st.integers(1, MOST_MICROS))
def test_what_is_written_is_read_back(micros: int) -> None:
    """The label that a node gets here says to the optimiser what the file said."""
    assert parse_price(exact_price(micros)) == micros


@pytest.mark.parametrize("text", ["", "free", "-0.1", "0", "0.0000001", "9000000000000", "nan"])
def test_what_is_no_price_is_refused(text: str) -> None:
    """A price of 0 means one that is not known; it must not come in by a typo."""
    with pytest.raises(QuantityError):
        parse_price(text)


def test_prices_are_told_to_the_cent() -> None:
    """One of a few cents is told whole: half of it would be lost."""
    for micros, said in (
        (12_384_000, "12.38"),
        (12_385_000, "12.39"),
        (100_000, "0.10"),
        (41_600, "0.0416"),
        (0, "0.00"),
        (-31_000, "-0.031"),
        (1_234_567_891, "1,234.57"),
    ):
        assert price_in_words(micros) == said
    # Cents of an hour times 730 would be off by dollars.
    assert month_in_words(41_600) == "30.37"


def test_prices_below_each_other_have_their_points_below_each_other() -> None:
    """A column of prices is added up by eye."""
    assert exact_column([96_000, 0, 71_200]) == ["0.0960", "", "0.0712"]
