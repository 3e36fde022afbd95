"""A figure says what it is made from, also when it falls short."""

from __future__ import annotations

from statistics import median

from stowage_testbed.text.figure import (
    at_least,
    at_most,
    figure,
    table,
)


def test_a_figure_that_falls_short_says_so() -> None:
    """It is never left out."""
    made = figure("proved", "%", [70.0], median, at_least(80, "%"))

    assert made.met is False
    assert made.target == ">= 80 %"
    assert "NO" in table([made])


def test_a_figure_without_measurements_is_neither_met_nor_missed() -> None:
    """Nothing measured is not zero."""
    made = figure("answer", "s", [], median, at_most(1, "s"))

    assert (made.value, made.met, made.runs) == (None, None, 0)
    assert made.note == "not measured"


def test_the_spread_is_the_quartiles_and_the_extremes_of_a_few() -> None:
    """One slow answer of a hundred is no spread, but one of three is."""
    few = figure("answer", "s", [1.0, 2.0, 9.0], median)
    many = figure("answer", "s", [1.0] * 50 + [2.0] * 50 + [99.0], median)

    assert few.spread == (1.0, 9.0)
    assert many.spread == (1.0, 2.0)
