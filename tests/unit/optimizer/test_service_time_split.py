"""What a call may take besides its solve, and what the contract says of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stowage_optimizer.service.solving import (
    answer_after_s,
    checking_s,
    grace_s,
    kill_after_s,
    reading_limit_s,
)

SMALL, LARGE, LARGEST = 40_000, 8_000_000, 64 * 1024**2
"""Bytes of 256 pods, of 50,000, and of the largest request."""

CONTRACT = (
    Path(__file__).parents[3]
    / "optimizer"
    / "stowage_optimizer"
    / "contract"
    / "optimizer.proto"
)


@pytest.mark.parametrize("size", [0, SMALL, LARGE, LARGEST])
def test_a_caller_is_answered_when_the_contract_says(size: int) -> None:
    """The scheduler waits by that formula; it has no other way to know."""
    formula = re.search(
        r"time_limit_s \+ ([\d.]+) \+ ([\d.e-]+) \* B", CONTRACT.read_text()
    )
    assert formula is not None

    assert grace_s(size) == pytest.approx(float(formula[1]) + size * float(formula[2]))


def test_nothing_is_endless_and_everything_grows_with_the_request() -> None:
    """A child that hangs while it reads must not hold a turn for ever (R4)."""
    for limit in (reading_limit_s, kill_after_s, answer_after_s, checking_s):
        assert limit(SMALL) < limit(LARGE) < limit(LARGEST)
    assert reading_limit_s(LARGEST) < 60
    assert grace_s(SMALL) < 2


def test_large_snapshots_leave_time_for_the_checker() -> None:
    """Else the last plan of 50,000 pods would always come too late to be checked."""
    assert answer_after_s(LARGE) > 2 * checking_s(LARGE)
