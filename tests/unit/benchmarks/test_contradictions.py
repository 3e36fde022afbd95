"""Wrong certificates are found by the better plan that refutes them."""

from __future__ import annotations

import pytest
from bench_records import a_record

from benchmarks.optimizer.certificates import compared, contradictions

OTHER = "rival paper 10 s"


@pytest.mark.parametrize("better", [(0, 11, -2), (0, 10, 0), (1, 10, -2)])
def test_a_better_plan_refutes_an_optimum(better: tuple[int, int, int]) -> None:
    """In any of the three parts of the objective."""
    claim = a_record(((0, 10, -2),), optimal=True)
    found = contradictions([claim, a_record((better,), arm=OTHER)])

    assert len(found) == 1
    assert "tier 0 optimal" in found[0]


def test_a_bound_is_refuted_without_a_claim_of_optimality() -> None:
    """Bounds are certificates too."""
    claim = a_record(((0, 10, -2),), upper_bound=11, disruption_lower_bound=2)

    more = contradictions([claim, a_record(((0, 12, -9),), arm=OTHER)])
    less_disruptive = contradictions([claim, a_record(((0, 10, 0),), arm=OTHER)])

    assert "placed 12" in more[0]
    assert "disrupted 0" in less_disruptive[0]


def test_a_limit_holds_for_plans_that_are_better_above_too() -> None:
    """It was proved of all that is as good above as what was reached, or better."""
    claim = a_record(((0, 5, -4), (0, 10, -4)), upper_bound=10)
    less_disruptive = a_record(((0, 5, -2), (0, 11, -9)), arm=OTHER)

    assert "tier 1 places 10" in contradictions([claim, less_disruptive])[0]


def test_an_optimum_is_refuted_once_by_the_first_number_that_is_better() -> None:
    """The tiers below were proved of another case then."""
    claim = a_record(((0, 5, -4), (0, 10, -4)), optimal=True)
    better = a_record(((0, 6, -4), (0, 9, -4)), arm=OTHER)

    (found,) = contradictions([claim, better])

    assert "tier 0 optimal" in found


def test_every_limit_that_some_other_run_could_refute_is_counted() -> None:
    """How many certificates were put to the test is part of the figure."""
    one, other = a_record(((0, 5, -4), (0, 9, -4))), a_record(arm=OTHER)
    alone = a_record(case="another")

    assert compared([one, alone]) == 0
    assert compared([one, other, alone]) == 2 * (2 + 1)


def test_a_claim_on_a_lower_tier_says_nothing_of_other_upper_tiers() -> None:
    """Bounds hold given what the tiers above reached."""
    claim = a_record(((0, 5, -4), (0, 10, -4)), upper_bound=10)
    other = a_record(((0, 5, -6), (0, 12, -6)), arm=OTHER)

    assert contradictions([claim, other]) == []


def test_runs_of_other_instances_or_with_other_pods_left_alone_are_no_evidence() -> (
    None
):
    """What a strategy refuses is no part of what it claims."""
    claim = a_record(((0, 10, -2),), optimal=True)
    elsewhere = a_record(((0, 11, 0),), arm=OTHER, case="another")
    narrower = a_record(((0, 11, 0),), arm="third", refused=("class a",))

    assert contradictions([claim, elsewhere, narrower]) == []


def test_equal_and_worse_plans_refute_nothing() -> None:
    """A true certificate stays unchallenged."""
    claim = a_record(
        ((0, 10, -2),), optimal=True, upper_bound=10, disruption_lower_bound=2
    )
    others = [a_record((value,), arm=str(value)) for value in ((0, 10, -2), (0, 9, 0))]

    assert contradictions([claim, *others]) == []
