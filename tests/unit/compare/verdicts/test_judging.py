"""From metrics of runs to verdicts, by one look at the end or one after each round."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from stowage_testbed.compare.verdicts.judging import Question, judge, judge_arm
from stowage_testbed.compare.verdicts.spending import (
    ERROR_RATE,
    FIRST_LOOK,
    share_of_look,
)
from stowage_testbed.compare.verdicts.verdict import MeasuredRun, Verdict
from stowage_testbed.metrics.metric import Better, Metric

NAME = "t_sched_mean_s"
ASKED = Question((NAME, "t_sched_p99_s"))
EACH_ROUND = Question((NAME,), each_round=True)
SAME = "no difference shown"


def runs(
    arm: str,
    *values: float | None,
    better: Better = "lower",
    resolution: float = 0.0,
    note: str = "",
) -> list[MeasuredRun]:
    return [
        MeasuredRun(
            arm,
            "own",
            number,
            (Metric(NAME, value, "s", better, 200, resolution, note),),
        )
        for number, value in enumerate(values, start=1)
    ]


def verdict_on(
    baseline: list[MeasuredRun], arm: list[MeasuredRun], asked: Question = ASKED
) -> Verdict:
    (verdict,) = judge_arm(baseline, arm, asked).verdicts
    return verdict


@pytest.mark.parametrize(
    ("baseline", "arm", "metric", "outcome", "reason"),
    [
        ((1.0, 1.1, 0.9), (2.0, 2.3, 1.7), {}, "worse", "above 1"),
        ((2.0, 2.3, 1.7), (1.0, 1.1, 0.9), {}, "better", "below 1"),
        # Twice the throughput is no failure.
        ((100, 101, 99), (200, 205, 199), {"better": "higher"}, "better", "above 1"),
        ((1.0, 1.2, 0.8, 1.1), (1.1, 1.1, 1.0, 1.2), {}, SAME, "4 rounds show changes"),
        # A ratio to nothing says nothing.
        ((0, 0, 0, 0), (9, 10, 11, 10), {"resolution": 1.0}, "worse", "above 0"),
        # Values that are steps apart may differ by less than they seem to: 40 pods
        # against 41 three times over is one chance in thirty, 180 against 200 is none.
        ([40.0] * 3, [41.0] * 3, {"resolution": 1.0}, SAME, "3 rounds show"),
        ([180.0] * 3, [200.0] * 3, {"resolution": 1.0}, "worse", "above 1"),
        # Without a resolution it may be the smallest step that the metric can take.
        ([1.0] * 3, [1.5] * 3, {}, SAME, "3 rounds show"),
        ([1.0] * 8, [1.5] * 8, {}, "worse", "above 1"),
        ((5.0, 5.0), (5.0, 5.0), {}, SAME, "the same in every round"),
        # There is no spread to hold it against, however large the difference.
        ((1.0,), (100.0,), {}, SAME, "one round shows no spread"),
        # The mean of pods per node is the same question as how many were placed.
        (
            (1, 1.01),
            (9, 9.01),
            {"better": "neither"},
            "not judged",
            "neither direction",
        ),
    ],
)
def test_a_difference_is_called_if_the_rounds_show_it_and_its_reason_is_given(
    baseline: Sequence[float],
    arm: Sequence[float],
    metric: Mapping[str, Any],
    outcome: str,
    reason: str,
) -> None:
    """The reader wants to know whether to measure longer."""
    verdict = verdict_on(runs("a", *baseline, **metric), runs("b", *arm, **metric))

    assert verdict.outcome == outcome
    assert reason in verdict.reason
    assert (verdict.low is None) == (len(arm) == 1)


def test_an_interval_is_that_of_the_textbook() -> None:
    """Mean 2, deviation 1, three values: 4.3027 / sqrt(3) on either side."""
    e = math.e
    verdict = verdict_on(runs("a", 1, 1, 1), runs("b", e, e**2, e**3))
    same = verdict_on(runs("a", 5.0, 5.0), runs("b", 5.0, 5.0))
    apart = verdict_on(
        runs("a", *[0.0] * 3, resolution=1.0), runs("b", *[1.0] * 3, resolution=1.0)
    )

    assert (verdict.scale, same.scale, apart.scale) == ("ratio", "ratio", "difference")
    assert (verdict.estimate, verdict.low, verdict.high) == pytest.approx(
        (e**2, math.exp(2 - 2.484138), math.exp(2 + 2.484138)), rel=1e-5
    )
    assert (same.low, same.high) == (1.0, 1.0)
    # Values that are steps apart vary by a twelfth of the step's square each.
    low = 1 - 2.484138 / 6**0.5
    assert (apart.estimate, apart.low) == pytest.approx((1, low), abs=1e-6)


def test_the_rounds_that_would_show_a_change_are_those_that_the_table_gives() -> None:
    """Mean 0.125, deviation 0.171: the hint is what `--repeat` is to be set to."""
    shown = [math.exp(change) for change in (0.1, 0.3, 0.2, -0.1)]
    nothing = [math.exp(change) for change in (0.1, -0.1)]

    found = verdict_on(runs("a", *[1.0] * 4), runs("b", *shown))
    none = verdict_on(runs("a", *[1.0] * 2), runs("b", *nothing))

    assert found.reason.endswith("about 10 would show this one")
    assert "would show" not in none.reason


def test_rounds_without_a_value_are_left_out_and_the_reason_is_given() -> None:
    """A percentile of too few samples is no value; nor is what is not a number."""
    first = runs("a", 1.0, None, 1.1, note="p99 needs n >= 100, got 7")
    missing = verdict_on(first, runs("b", 1.0, 1.0, 1.1))
    endless = verdict_on(runs("a", 1.0, math.nan, 1.1), runs("b", 1.0, 1.0, math.inf))

    assert (missing.rounds, endless.rounds) == (2, 1)
    assert "p99 needs n >= 100, got 7" in missing.reason


def test_failed_rounds_and_rounds_of_two_clocks_are_left_out_by_name() -> None:
    """Half of a burst is no faster burst; one clock's lag would be the arm's own."""
    baseline, arm = runs("a", 1.0, 1.1, 1.2), runs("b", 1.0, 1.1, 1.2)
    ended = MeasuredRun("b", "own", 2, (), "arm ended")
    watched = replace(arm[1], clock="watch")

    broken = judge_arm(baseline, [arm[0], ended], ASKED)
    mixed = judge_arm(baseline, [arm[0], watched, arm[2]], ASKED)

    lone = "round 3: only one arm has run"
    assert (broken.rounds, mixed.rounds) == (1, 2)
    assert broken.left_out == (lone, "round 2: b: arm ended")
    assert mixed.left_out == ("round 2: two clocks,  and watch",)


def test_each_kind_of_limits_and_each_arm_is_judged_by_itself() -> None:
    """Own and equal client limits answer two questions."""
    both = [
        replace(run, limits=limits)
        for limits in ("own", "equal")
        for arm in "abc"
        for run in runs(arm, 1.0, 1.1)
    ]

    judged = [(one.limits, one.arm) for one in judge(both, "a", ASKED)]
    assert judged == [("own", "b"), ("own", "c"), ("equal", "b"), ("equal", "c")]


def test_a_huge_interval_stays_a_number() -> None:
    """JSON has no infinity, and two rounds can be a hundred orders apart."""
    verdict = verdict_on(runs("a", 1e-200, 1e200), runs("b", 1e200, 1e-200))

    assert verdict.high is not None
    assert math.isfinite(verdict.high)


def test_an_arm_whose_runs_fail_is_not_better_for_the_others() -> None:
    """A scheduler that recovers in half of its runs would be judged by these."""
    baseline = runs("a", 2.0, 2.1, 1.9, 2.0)
    quick = runs("b", 1.0, 1.06, 0.93, 1.02)
    broken = [*quick[:-1], replace(quick[-1], error="no pod was placed")]
    missing = runs("b", 1.0, 1.06, 0.93, None, note="right-censored")

    assert verdict_on(baseline, quick).outcome == "better"
    for arm in (broken, missing):
        verdict = verdict_on(baseline, arm)
        assert verdict.outcome == "not judged"
        assert "more of its runs have no value" in verdict.reason
    assert verdict_on(missing, baseline).outcome == "worse"


def levels(columns: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return how often each interval may miss, where the baseline is always 1."""

    def measured(arm: str, values: Mapping[str, Sequence[float]]) -> list[MeasuredRun]:
        return [
            MeasuredRun(
                arm,
                "own",
                number,
                tuple(
                    Metric(name, one[number], "s", "lower", 200, 0.0)
                    for name, one in values.items()
                ),
            )
            for number in range(5)
        ]

    baseline = measured("a", dict.fromkeys(columns, [1.0] * 5))
    asked = Question(tuple(columns))
    found = judge_arm(baseline, measured("b", columns), asked).verdicts
    return {verdict.name: 1 - verdict.confidence for verdict in found}


def test_headlines_share_the_error_and_what_is_shown_hands_its_share_on() -> None:
    """Twenty questions, of which one may be answered wrong in twenty comparisons."""
    quiet = {
        f"m{seed}": np.exp(np.random.default_rng(seed).normal(0, 0.1, 5)).tolist()
        for seed in range(4)
    }
    # What never varies cannot be called anything, and leaves its share.
    still = {f"still-{number}": [1.0] * 5 for number in range(30)}
    plain = [20.0, 21.0, 19.0, 20.5, 20.0]

    found = levels({**quiet, "plain": plain, **still})

    shares = dict.fromkeys(quiet, ERROR_RATE / 4)
    assert levels(quiet) == pytest.approx(shares)
    assert found["plain"] == pytest.approx(ERROR_RATE / 5)
    assert {name: found[name] for name in quiet} == pytest.approx(shares)


QUICK = (1.0, 1.02, 0.98, 1.01, 1.0, 0.99, 1.0, 1.01)


def looked_at(*arm: float) -> Verdict:
    """Return what looks after each round come to against the quick arm."""
    baseline = runs("a", *QUICK[: len(arm)], resolution=0.001)
    return verdict_on(baseline, runs("b", *arm, resolution=0.001), EACH_ROUND)


def test_looks_begin_with_the_fourth_round_and_share_the_error() -> None:
    """Who looks after each round asks again and again, and may be wrong each time."""
    early = looked_at(9.0, 9.2, 8.8)
    spent = [1 - looked_at(*QUICK[:rounds][::-1]).confidence for rounds in (4, 5, 6)]
    shares = sum(share_of_look(rounds) for rounds in range(FIRST_LOOK, 2000))

    assert (early.outcome, early.low, early.decided) == (SAME, None, False)
    assert "begin with round 4" in early.reason
    assert spent == pytest.approx([ERROR_RATE / 2, ERROR_RATE / 6, ERROR_RATE / 12])
    assert 0.99 * ERROR_RATE < shares < ERROR_RATE


def test_a_verdict_once_given_stands_and_rounds_only_narrow_the_interval() -> None:
    """A comparison that ends with it, and one that goes on, must not disagree."""
    plain, values = (2.0, 2.05, 1.95, 2.02), (1.2, 1.3, 1.1, 1.25, 1.2, 1.6, 1.2, 1.22)
    ends = [
        (found.low or math.nan, found.high or math.nan)
        for found in (looked_at(*values[:rounds]) for rounds in range(4, 9))
    ]

    assert looked_at(*plain).outcome == "worse"
    assert looked_at(*plain, 2.0, 0.2, 6.0, 0.3).outcome == "worse"
    for (low, high), (later_low, later_high) in pairwise(ends):
        assert low <= later_low <= later_high <= high


@pytest.mark.parametrize(
    ("arm", "decided"),
    [
        (QUICK, True),  # the same in every round
        ((1.01, 1.01, 0.99, 1.0, 1.01, 0.98, 1.0, 1.01), True),  # below 5 %
        ((1.2, 0.8, 1.1, 0.9, 1.2, 0.8, 1.1, 0.9), False),
    ],
)
def test_what_cannot_matter_is_decided(
    arm: tuple[float, ...], *, decided: bool
) -> None:
    """Otherwise equal schedulers would be compared until the time is over."""
    verdict = looked_at(*arm)

    assert (verdict.outcome, verdict.decided) == (SAME, decided)
