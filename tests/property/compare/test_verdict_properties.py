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

DIRECTIONS: dict[str, Better] = {
    "t_sched_mean_s": "lower",
    "jain_pods": "higher",
    "third": "lower",
    "fourth": "neither",
}
ASKED = Question(tuple(DIRECTIONS))
OPPOSITE = {"better": "worse", "worse": "better"}

VALUES = st.one_of(st.just(0.0), st.floats(1e-3, 1e3))
ROUND = st.tuples(*[st.tuples(VALUES, VALUES)] * len(DIRECTIONS))
ROUNDS = st.lists(ROUND, min_size=2, max_size=8)

Round = Sequence[tuple[float, float]]


def runs(rounds: Sequence[Round], side: int) -> list[MeasuredRun]:
    made = []
    for number, one in enumerate(rounds, start=1):
        metrics = tuple(
            Metric(name, values[side], "s", better, 9, 0.001)
            for (name, better), values in zip(DIRECTIONS.items(), one, strict=True)
        )
        made.append(MeasuredRun("ab"[side], "own", number, metrics))
    return made


def verdicts(rounds: Sequence[Round], baseline: int = 0) -> list[tuple[Verdict, float, float]]:
    """Return the verdicts, and the ends of their intervals."""
    found = judge_arm(runs(rounds, baseline), runs(rounds, 1 - baseline), ASKED)
    ends = []
    for one in found.verdicts:
        assert one.low is not None
        assert one.high is not None
        ends.append((one, one.low, one.high))
    return ends


@settings(deadline=None)
@given(ROUNDS)
def test_a_verdict_is_an_interval_that_leaves_out_no_change(rounds: Sequence[Round]) -> None:
    """There is no second rule that a reader would have to know."""
    for verdict, low, high in verdicts(rounds):
        assert verdict.estimate is not None
        assert low <= verdict.estimate <= high
        changed = not low <= UNCHANGED[verdict.scale] <= high
        assert (verdict.outcome in OPPOSITE) == (changed and verdict.better != "neither")


@settings(deadline=None)
@given(ROUNDS)
def test_arms_that_swap_places_swap_verdicts(rounds: Sequence[Round]) -> None:
    """Which arm is called the baseline decides nothing."""
    both = zip(verdicts(rounds), verdicts(rounds, 1), strict=True)
    for (one, low, _), (other, _, high) in both:
        assert other.outcome == OPPOSITE.get(one.outcome, one.outcome)
        assert other.confidence == pytest.approx(one.confidence)
        mirrored = 1 / high if one.scale == "ratio" else -high
        assert low == pytest.approx(mirrored, rel=1e-6, abs=1e-9)


@settings(deadline=None)
@given(ROUNDS, st.randoms(use_true_random=False))
def test_the_order_of_the_rounds_decides_nothing(rounds: list[Round], random: Random) -> None:
    """The same runs give the same verdicts, whenever each was made."""
    shuffled = list(rounds)
    random.shuffle(shuffled)

    for one, other in zip(verdicts(rounds), verdicts(shuffled), strict=True):
        assert one[0].outcome == other[0].outcome
        assert one[1:] == pytest.approx(other[1:], rel=1e-6, abs=1e-9)
