"""Pods tied by budgets, demands, owners and limits: no claim about them is false."""

import os
from functools import cache

import pytest

from tests.differential.proofs.verdict import ASKED, BEST, OPTIMISER, PIECE, Piece, measure

PIECES = int(os.environ.get("PROOF_PIECES", "3"))
"""Of a hundred clusters each; `make test-all` has twenty of them."""


@cache
def piece(number: int, asked: str = OPTIMISER) -> Piece:
    return measure(number * PIECE, "lexicographic", asked)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("number", [0, *(pytest.param(one, marks=pytest.mark.thorough) for one in range(1, PIECES))])
def test_no_claim_is_refuted_and_no_plan_breaks_a_rule(number: int, asked: str) -> None:
    """What is said to be proved is said of the cluster, not of a part of it."""
    assert piece(number, asked).faults == ()


@pytest.mark.thorough
def test_nearly_every_answer_is_the_best_plan() -> None:
    """Which pods of a budget go, and where to, is chosen and not given."""
    worse = [seed for number in range(PIECES) for seed in piece(number).worse]

    assert len(worse) <= (1 - BEST) * PIECES * PIECE


@pytest.mark.parametrize("strategy", ["cpsat-aggregated", "paper", "first-fit-decreasing", "milp"])
def test_no_strategy_claims_what_is_false(strategy: str) -> None:
    """Strategies know nothing of what ties pods; what comes after them does."""
    assert measure(0, strategy).faults == ()
