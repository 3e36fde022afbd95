"""From metrics of runs to verdicts."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from stowage_testbed.compare.verdicts.judging import Question, judge, judge_arm
from stowage_testbed.compare.verdicts.verdict import MeasuredRun, Verdict
from stowage_testbed.metrics.metric import Better, Metric

ASKED = Question(("t_sched_mean_s", "t_sched_p99_s"))


def runs(
    arm: str,
    *values: float | None,
    name: str = "t_sched_mean_s",
    better: Better = "lower",
    resolution: float = 0.0,
    note: str = "",
) -> list[MeasuredRun]:
    return [
        MeasuredRun(
            arm,
            "own",
            number,
            (Metric(name, value, "s", better, 200, resolution, note),),
        )
        for number, value in enumerate(values, start=1)
    ]


def verdict_on(baseline: list[MeasuredRun], arm: list[MeasuredRun]) -> Verdict:
    (verdict,) = judge_arm(baseline, arm, ASKED).verdicts
    return verdict


def test_a_plain_difference_is_found_in_its_direction() -> None:
    """Twice the latency in every round, with little spread, is worse.

    Twice the throughput is no failure.
    """
    slow = verdict_on(runs("a", 1.0, 1.1, 0.9), runs("b", 2.0, 2.3, 1.7))
    quick = verdict_on(runs("a", 2.0, 2.3, 1.7), runs("b", 1.0, 1.1, 0.9))
    more = verdict_on(
        runs("a", 100.0, 101.0, 99.0, better="higher"),
        runs("b", 200.0, 205.0, 199.0, better="higher"),
    )

    assert (slow.outcome, quick.outcome, more.outcome) == ("worse", "better", "better")
    assert slow.scale == "ratio"
    assert slow.estimate == pytest.approx((2 * 2.3 / 1.1 * 1.7 / 0.9) ** (1 / 3))


def test_a_difference_within_the_spread_is_not_shown_and_says_what_would_show_it() -> (
    None
):
    """The reader wants to know whether to measure longer."""
    verdict = verdict_on(runs("a", 1.0, 1.2, 0.8, 1.1), runs("b", 1.1, 1.1, 1.0, 1.2))

    assert verdict.outcome == "no difference shown"
    assert verdict.low is not None
    assert verdict.high is not None
    assert verdict.low < 1 < verdict.high
    assert "4 rounds show changes beyond x" in verdict.reason


def test_zeros_are_compared_by_difference() -> None:
    """A ratio to nothing says nothing."""
    verdict = verdict_on(
        runs("a", 0.0, 0.0, 0.0, 0.0, resolution=1.0),
        runs("b", 9.0, 10.0, 11.0, 10.0, resolution=1.0),
    )

    assert verdict.scale == "difference"
    assert verdict.estimate == 10.0
    assert verdict.outcome == "worse"


@pytest.mark.parametrize(
    ("before", "now", "rounds", "resolution", "outcome"),
    [
        # 39 pods against 40 three times over is one chance in thirty, not a finding.
        (40.0, 41.0, 3, 1.0, "no difference shown"),
        # Twenty pods more in each of three rounds leave nothing to doubt.
        (180.0, 200.0, 3, 1.0, "worse"),
        # Without a resolution it may be the smallest step that the metric can take.
        (1.0, 1.5, 3, 0.0, "no difference shown"),
        (1.0, 1.5, 8, 0.0, "worse"),
    ],
)
def test_the_same_change_in_every_round_is_held_against_the_metrics_step(
    before: float, now: float, rounds: int, resolution: float, outcome: str
) -> None:
    """Values that are steps apart may differ by less than they seem to."""
    verdict = verdict_on(
        runs("a", *[before] * rounds, resolution=resolution),
        runs("b", *[now] * rounds, resolution=resolution),
    )

    assert verdict.outcome == outcome


def test_equal_values_are_the_same() -> None:
    """A comparison of an arm with itself where nothing varies."""
    verdict = verdict_on(runs("a", 5.0, 5.0), runs("b", 5.0, 5.0))

    assert verdict.outcome == "no difference shown"
    assert verdict.reason == "the same in every round"
    assert (verdict.low, verdict.high) == (1.0, 1.0)


def test_one_round_shows_nothing() -> None:
    """There is no spread to hold it against, however large the difference."""
    verdict = verdict_on(runs("a", 1.0), runs("b", 100.0))

    assert verdict.outcome == "no difference shown"
    assert verdict.low is None
    assert verdict.reason.startswith("one round shows no spread")


def test_a_metric_without_a_direction_is_shown_and_not_judged() -> None:
    """The mean of pods per node is the same question as how many were placed."""
    verdict = verdict_on(
        runs("a", 1.0, 1.01, better="neither"), runs("b", 9.0, 9.01, better="neither")
    )

    assert verdict.outcome == "not judged"
    assert verdict.low is not None


def test_rounds_without_a_value_are_left_out_and_the_reason_is_given() -> None:
    """A percentile of too few samples is no value; nor is what is not a number."""
    first = runs("a", 1.0, None, 1.1, note="p99 needs n >= 100, got 7")
    missing = verdict_on(first, runs("b", 1.0, 1.0, 1.1))
    endless = verdict_on(runs("a", 1.0, math.nan, 1.1), runs("b", 1.0, 1.0, math.inf))

    assert (missing.rounds, endless.rounds) == (2, 1)
    assert "p99 needs n >= 100, got 7" in missing.reason


def test_failed_rounds_are_left_out_by_name() -> None:
    """Half of a burst is not a faster burst, and nobody may overlook it."""
    broken = [*runs("b", 1.0, 1.1)[:1], MeasuredRun("b", "own", 2, (), "arm ended")]
    judged = judge_arm(runs("a", 1.0, 1.1, 1.2), broken, ASKED)

    assert judged.rounds == 1
    assert judged.left_out == (
        "round 3: only one arm has run",
        "round 2: b: arm ended",
    )


def test_a_round_of_two_clocks_is_left_out_by_name() -> None:
    """What one clock is behind the other would be taken for the arm's own."""
    arm = runs("b", 1.0, 1.1, 1.2)
    arm[1] = replace(arm[1], clock="watch")

    judged = judge_arm(runs("a", 1.0, 1.1, 1.2), arm, ASKED)

    assert judged.rounds == 2
    assert judged.left_out == ("round 2: two clocks,  and watch",)


def test_each_kind_of_limits_and_each_arm_is_judged_by_itself() -> None:
    """Own and equal client limits answer two questions."""
    both = [
        MeasuredRun(run.arm, limits, run.round_number, run.metrics)
        for limits in ("own", "equal")
        for run in (*runs("a", 1.0, 1.1), *runs("b", 1.0, 1.1), *runs("c", 1.0, 1.1))
    ]

    judged = judge(both, "a", ASKED)

    assert [(one.limits, one.arm) for one in judged] == [
        ("own", "b"),
        ("own", "c"),
        ("equal", "b"),
        ("equal", "c"),
    ]


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
