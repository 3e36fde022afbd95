"""The paper's categories, by its authors' rules."""

from __future__ import annotations

import pytest
from paper_results import a_result, an_instance

from stowage_testbed.reproduce.instance.rows import Where
from stowage_testbed.reproduce.paper.categories import (
    Baseline,
    Categorised,
    Category,
    category,
    shares,
)

BEFORE: Where = (0, 1, -1)
"""One pod of each priority is placed, a second of the lower one is not."""


@pytest.mark.parametrize(
    ("plan", "optimal", "expected"),
    [
        ((0, 1, 2), True, Category.BETTER_OPTIMAL),
        ((0, 1, 2), False, Category.BETTER),
        ((0, 1, -1), True, Category.DEFAULT_OPTIMAL),
        ((0, -1, 1), True, Category.DEFAULT_OPTIMAL),
        ((0, 1, -1), False, Category.FAILURES),
        ((0, -1, -1), False, Category.FAILURES),
        ((0, -1, -1), True, Category.FAILURES),
        ((-1, 1, 2), True, Category.FAILURES),
    ],
)
def test_a_result_falls_into_the_category_of_the_papers_text(
    plan: Where, optimal: bool, expected: Category
) -> None:
    """A lower priority never outweighs a higher one, and no proof is no merit."""
    instance = an_instance((2, 1, 1), start=BEFORE)
    found = category(instance, a_result(plan, optimal=optimal), Baseline.DETERMINISTIC)
    assert found is expected


def test_a_default_that_places_all_is_no_call_whatever_the_plan() -> None:
    """The optimiser would not have been asked."""
    instance = an_instance((1, 1), start=(0, -1), stock=(0, 1))
    result = a_result((0, -1), optimal=False)
    assert category(instance, result, Baseline.STOCK) is Category.NO_CALLS
    assert category(instance, result, Baseline.DETERMINISTIC) is Category.FAILURES


def test_a_pod_of_higher_priority_is_worth_any_number_below() -> None:
    """The comparison is lexicographic from the highest priority."""
    instance = an_instance((3, 1, 1, 1), start=(-1, 0, 1, 2))
    result = a_result((0, -1, -1, -1), optimal=False)
    assert category(instance, result, Baseline.DETERMINISTIC) is Category.BETTER


def test_shares_sum_to_one_and_name_every_category() -> None:
    """A stack that does not reach the top would hide instances."""
    instance = an_instance((1, 1), start=(0, -1), stock=(0, -1))
    categorised = [
        Categorised(instance, a_result((0, 1))),
        Categorised(instance, a_result((0, -1))),
        Categorised(instance, a_result((0, -1), optimal=False)),
        Categorised(instance, a_result((0, 1), optimal=False)),
    ]
    known = shares(categorised, Baseline.STOCK)
    assert known is not None
    assert list(known) == list(Category)
    assert sum(known.values()) == 1
    assert known[Category.NO_CALLS] == 0
    assert shares([], Baseline.STOCK) is None


def test_gains_are_points_of_the_whole_cluster() -> None:
    """Pods of 100, 200 and 300 on four nodes of 1000: the third is worth 7.5 points."""
    instance = an_instance((1, 1, 1), start=(0, 1, -1), stock=(0, -1, -1))
    one = Categorised(instance, a_result((0, 1, 2)))
    assert one.gain_points(Baseline.DETERMINISTIC, "cpu") == pytest.approx(7.5)
    assert one.gain_points(Baseline.STOCK, "cpu") == pytest.approx(12.5)
    assert one.gain_points(Baseline.DETERMINISTIC, "memory") == pytest.approx(2.5)
