"""Looks after each round."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

from stowage_testbed.compare.verdicts.judging import Question, judge_arm
from stowage_testbed.compare.verdicts.verdict import MeasuredRun, Verdict
from stowage_testbed.metrics.metric import Metric

NAME = "t_sched_mean_s"
EACH_ROUND = Question((NAME,), each_round=True)
QUICK = (1.0, 1.02, 0.98, 1.01, 1.0, 0.99, 1.0, 1.01)


def runs(arm: str, values: Sequence[float]) -> list[MeasuredRun]:
    return [
        MeasuredRun(
            arm, "own", number, (Metric(NAME, value, "s", "lower", 200, 0.001),)
        )
        for number, value in enumerate(values, start=1)
    ]


def looked_at(arm: Sequence[float], baseline: Sequence[float] = QUICK) -> Verdict:
    first = runs("a", baseline[: len(arm)])
    (verdict,) = judge_arm(first, runs("b", arm), EACH_ROUND).verdicts
    return verdict


def test_three_rounds_are_not_looked_at() -> None:
    """Their share would be taken from the looks that can show something."""
    verdict = looked_at((9.0, 9.2, 8.8))

    assert verdict.outcome == "no difference shown"
    assert verdict.low is None
    assert not verdict.decided
    assert "begin with round 4" in verdict.reason


def test_a_verdict_once_given_stands() -> None:
    """A comparison that ends with it, and one that goes on, must not disagree."""
    plain = (2.0, 2.05, 1.95, 2.02)
    upset = (*plain, 2.0, 0.2, 6.0, 0.3)

    assert looked_at(plain).outcome == "worse"
    assert looked_at(upset).outcome == "worse"


def test_rounds_make_the_interval_narrower_and_never_wider() -> None:
    """It is what the intervals of all looks have in common."""
    values = (1.2, 1.3, 1.1, 1.25, 1.2, 1.6, 1.2, 1.22)
    found = [looked_at(values[:rounds]) for rounds in range(4, 9)]

    for before, after in pairwise(found):
        assert before.low is not None
        assert before.high is not None
        assert after.low is not None
        assert after.high is not None
        assert before.low <= after.low <= after.high <= before.high


@pytest.mark.parametrize(
    ("arm", "decided"),
    [
        (QUICK, True),  # the same in every round
        ((1.01, 1.01, 0.99, 1.0, 1.01, 0.98, 1.0, 1.01), True),  # below 5 %
        ((1.2, 0.8, 1.1, 0.9, 1.2, 0.8, 1.1, 0.9), False),
    ],
)
def test_what_cannot_matter_is_decided(arm: Sequence[float], *, decided: bool) -> None:
    """Otherwise equal schedulers would be compared until the time is over."""
    verdict = looked_at(arm)

    assert verdict.outcome == "no difference shown"
    assert verdict.decided == decided
