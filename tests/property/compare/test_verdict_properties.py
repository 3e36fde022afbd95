"""What holds of verdicts for any values."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stowage_testbed.compare.verdicts.judging import Question, judge_arm
from stowage_testbed.compare.verdicts.verdict import UNCHANGED, MeasuredRun, Verdict
from stowage_testbed.metrics.metric import Better, Metric

NAMES = ("t_sched_mean_s", "jain_pods", "third", "fourth")
ASKED = Question(NAMES)
DIRECTIONS: dict[str, Better] = {"jain_pods": "higher", "fourth": "neither"}
OPPOSITE = {"better": "worse", "worse": "better"}

VALUES = st.one_of(st.just(0.0), st.floats(1e-3, 1e3))
ROUND = st.tuples(*[st.tuples(VALUES, VALUES)] * len(NAMES))
ROUNDS = st.lists(ROUND, min_size=2, max_size=8)

Round = Sequence[tuple[float, float]]


def runs(rounds: Sequence[Round], side: int) -> list[MeasuredRun]:
    return [
        MeasuredRun(
            "ab"[side],
            "own",
            number,
            tuple(
                Metric(name, values[side], "s", DIRECTIONS.get(name, "lower"), 9, 0.001)
                for name, values in zip(NAMES, one, strict=True)
            ),
        )
        for number, one in enumerate(rounds, start=1)
    ]


def verdicts(rounds: Sequence[Round], baseline: int = 0) -> tuple[Verdict, ...]:
    return judge_arm(runs(rounds, baseline), runs(rounds, 1 - baseline), ASKED).verdicts


@settings(deadline=None)
@given(ROUNDS)
def test_an_interval_holds_its_estimate(rounds: Sequence[Round]) -> None:
    """Otherwise table and picture would contradict each other."""
    for verdict in verdicts(rounds):
        assert verdict.estimate is not None
        assert verdict.low is not None
        assert verdict.high is not None
        assert verdict.low <= verdict.estimate <= verdict.high


@settings(deadline=None)
@given(ROUNDS)
def test_a_verdict_is_an_interval_that_leaves_out_no_change(
    rounds: Sequence[Round],
) -> None:
    """There is no second rule that a reader would have to know."""
    for verdict in verdicts(rounds):
        assert verdict.low is not None
        assert verdict.high is not None
        inside = verdict.low <= UNCHANGED[verdict.scale] <= verdict.high
        assert (verdict.outcome in OPPOSITE) == (
            not inside and verdict.better != "neither"
        )


@settings(deadline=None)
@given(ROUNDS)
def test_arms_that_swap_places_swap_verdicts(rounds: Sequence[Round]) -> None:
    """Which arm is called the baseline decides nothing."""
    for one, other in zip(verdicts(rounds), verdicts(rounds, 1), strict=True):
        assert other.outcome == OPPOSITE.get(one.outcome, one.outcome)
        assert other.confidence == pytest.approx(one.confidence)
        assert one.low is not None
        assert other.high is not None
        mirrored = 1 / other.high if one.scale == "ratio" else -other.high
        assert one.low == pytest.approx(mirrored, rel=1e-6, abs=1e-9)


@settings(deadline=None)
@given(ROUNDS, st.randoms(use_true_random=False))
def test_the_order_of_the_rounds_decides_nothing(
    rounds: list[Round], random: Random
) -> None:
    """The same runs give the same verdicts, whenever each was made."""
    shuffled = list(rounds)
    random.shuffle(shuffled)

    for one, other in zip(verdicts(rounds), verdicts(shuffled), strict=True):
        assert one.outcome == other.outcome
        assert one.low == pytest.approx(other.low, rel=1e-6, abs=1e-9)
        assert one.high == pytest.approx(other.high, rel=1e-6, abs=1e-9)
