"""Wrong certificates are found by the better plan that refutes them."""

from __future__ import annotations

from typing import Any

import pytest
from bench_records import a_record

from benchmarks.optimizer.certificates import contradictions

OTHER = "rival paper 10 s"
TWO_TIERS = ((0, 5, -4), (0, 10, -4))
OPTIMAL: dict[str, Any] = {"optimal": True}
BOUNDS = {"upper_bound": 11, "disruption_lower_bound": 2}
"""Certificates too, although nothing is said to be optimal."""

TIGHT = {**OPTIMAL, "upper_bound": 10, "disruption_lower_bound": 2}


@pytest.mark.parametrize(
    ("value", "claims", "better", "found"),
    [
        # In any of the three parts of the objective.
        (((0, 10, -2),), OPTIMAL, ((0, 11, -2),), "tier 0 optimal"),
        (((0, 10, -2),), OPTIMAL, ((0, 10, 0),), "tier 0 optimal"),
        (((0, 10, -2),), OPTIMAL, ((1, 10, -2),), "tier 0 optimal"),
        (((0, 10, -2),), BOUNDS, ((0, 12, -9),), "placed 12"),
        (((0, 10, -2),), BOUNDS, ((0, 10, 0),), "disrupted 0"),
        # A limit was proved of all that is as good above as what was reached.
        (TWO_TIERS, {"upper_bound": 10}, ((0, 5, -2), (0, 11, -9)), "tier 1 places 10"),
        # The tiers below were proved of another case then: one contradiction.
        (TWO_TIERS, OPTIMAL, ((0, 6, -4), (0, 9, -4)), "tier 0 optimal"),
        # Bounds hold given what the tiers above reached.
        (TWO_TIERS, {"upper_bound": 10}, ((0, 5, -6), (0, 12, -6)), None),
        (((0, 10, -2),), TIGHT, ((0, 10, -2),), None),
        (((0, 10, -2),), TIGHT, ((0, 9, 0),), None),
    ],
)
def test_a_claim_is_refuted_by_a_plan_that_is_better_where_it_was_proved(
    value: Any, claims: dict[str, Any], better: Any, found: str | None
) -> None:
    """And by no other: a true certificate stays unchallenged."""
    claim, other = a_record(value, **claims), a_record(better, arm=OTHER)

    contradicted = contradictions([claim, other])

    assert len(contradicted) == (found is not None)
    assert all(str(found) in one for one in contradicted)


def test_runs_of_other_instances_or_with_other_pods_left_alone_are_no_evidence() -> (
    None
):
    """What a strategy refuses is no part of what it claims."""
    claim = a_record(((0, 10, -2),), optimal=True)
    elsewhere = a_record(((0, 11, 0),), arm=OTHER, case="another")
    narrower = a_record(((0, 11, 0),), arm="third", refused=("class a",))

    assert contradictions([claim, elsewhere, narrower]) == []
