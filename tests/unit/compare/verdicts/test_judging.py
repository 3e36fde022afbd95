"""From metrics of runs to verdicts, by one look at the end or one after each round."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from stowage_testbed.compare.verdicts.interval import (
    Interval,
    rounds_to_show,
    student_interval,
)
from stowage_testbed.compare.verdicts.judging import Question, judge, judge_arm
from stowage_testbed.compare.verdicts.levels import levels
from stowage_testbed.compare.verdicts.pairs import Floats, Pairs
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


def test_a_plain_difference_is_found_in_its_direction() -> None:
    """Twice the latency in every round is worse; twice the throughput is no failure."""
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

    found = (verdict.scale, verdict.estimate, verdict.outcome)
    assert found == ("difference", 10.0, "worse")


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


def test_equal_values_and_one_round_show_nothing() -> None:
    """There is no spread to hold one against, however large the difference."""
    same = verdict_on(runs("a", 5.0, 5.0), runs("b", 5.0, 5.0))
    one = verdict_on(runs("a", 1.0), runs("b", 100.0))

    assert same.outcome == one.outcome == "no difference shown"
    assert same.reason == "the same in every round"
    assert (same.low, same.high) == (1.0, 1.0)
    assert one.low is None
    assert one.reason.startswith("one round shows no spread")


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


def test_failed_rounds_and_rounds_of_two_clocks_are_left_out_by_name() -> None:
    """Half of a burst is no faster burst; one clock's lag would be the arm's own."""
    baseline, arm = runs("a", 1.0, 1.1, 1.2), runs("b", 1.0, 1.1, 1.2)
    broken = judge_arm(
        baseline, [arm[0], MeasuredRun("b", "own", 2, (), "arm ended")], ASKED
    )
    mixed = judge_arm(
        baseline, [arm[0], replace(arm[1], clock="watch"), arm[2]], ASKED
    )

    assert (broken.rounds, mixed.rounds) == (1, 2)
    assert broken.left_out == (
        "round 3: only one arm has run",
        "round 2: b: arm ended",
    )
    assert mixed.left_out == ("round 2: two clocks,  and watch",)


def test_each_kind_of_limits_and_each_arm_is_judged_by_itself() -> None:
    """Own and equal client limits answer two questions."""
    both = [
        MeasuredRun(run.arm, limits, run.round_number, run.metrics)
        for limits in ("own", "equal")
        for arm in "abc"
        for run in runs(arm, 1.0, 1.1)
    ]

    assert [(one.limits, one.arm) for one in judge(both, "a", ASKED)] == [
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


QUICK = (1.0, 1.02, 0.98, 1.01, 1.0, 0.99, 1.0, 1.01)
PLAIN = (2.0, 2.05, 1.95, 2.02)


def looked_at(*arm: float) -> Verdict:
    """Return what looks after each round come to against the quick arm."""
    baseline, other = (
        runs(name, *values, resolution=0.001)
        for name, values in (("a", QUICK[: len(arm)]), ("b", arm))
    )
    return verdict_on(baseline, other, EACH_ROUND)


def test_three_rounds_are_not_looked_at() -> None:
    """Their share would be taken from the looks that can show something."""
    verdict = looked_at(9.0, 9.2, 8.8)

    assert verdict.outcome == "no difference shown"
    assert (verdict.low, verdict.decided) == (None, False)
    assert "begin with round 4" in verdict.reason


def test_a_verdict_once_given_stands_and_rounds_only_narrow_the_interval() -> None:
    """A comparison that ends with it, and one that goes on, must not disagree."""
    values = (1.2, 1.3, 1.1, 1.25, 1.2, 1.6, 1.2, 1.22)
    ends = [
        (found.low or math.nan, found.high or math.nan)
        for found in (looked_at(*values[:rounds]) for rounds in range(4, 9))
    ]

    assert looked_at(*PLAIN).outcome == "worse"
    assert looked_at(*PLAIN, 2.0, 0.2, 6.0, 0.3).outcome == "worse"
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

    assert (verdict.outcome, verdict.decided) == ("no difference shown", decided)


def test_an_interval_is_that_of_the_textbook() -> None:
    """Mean 2, deviation 1, three values: 4.3027 / sqrt(3) on either side."""
    interval = student_interval(np.array([1.0, 2.0, 3.0]), 0.0, 0.05)

    assert interval.mean == 2.0
    assert interval.half_width == pytest.approx(2.484138, abs=1e-6)
    assert not interval.leaves_out_zero
    # Values that are steps apart may differ by less.
    same = np.array([1.0, 1.0, 1.0])
    assert student_interval(same, 0.0, 0.05).half_width == 0.0
    assert student_interval(same, 1 / 6, 0.05).half_width == pytest.approx(
        2.484138 / 6**0.5, abs=1e-6
    )


def test_the_rounds_that_would_show_a_change_do_show_it() -> None:
    """The hint is what `--repeat` is to be set to."""
    like = student_interval(np.array([0.1, 0.3, 0.2, -0.1]), 0.0, 0.01)
    needed = rounds_to_show(like, 200)

    def of(rounds: int) -> Interval:
        """Return the interval of that many rounds with the same mean and spread."""
        pattern = np.arange(rounds, dtype=float)
        pattern -= pattern.mean()
        changes = like.mean + like.spread * pattern / pattern.std(ddof=1)
        return student_interval(changes, 0.0, like.level)

    assert needed is not None
    assert needed > 4
    assert of(needed).leaves_out_zero
    assert not of(needed - 1).leaves_out_zero
    nothing = student_interval(np.array([0.1, -0.1]), 0.0, 0.05)
    assert rounds_to_show(nothing, 200) is None


def pairs(name: str, changes: Floats) -> Pairs:
    """Return a metric that is 1 in the baseline and changes by these logarithms."""
    values = tuple(np.exp(changes).tolist())
    metric = Metric(name, 1.0, "s", "lower", 200, 0.0)
    return Pairs(metric, (1.0,) * len(values), values, 0.0, "")


def noise(rounds: int, seed: int = 2) -> Floats:
    return np.random.default_rng(seed).normal(0, 0.1, rounds)


def test_metrics_share_the_error_and_what_is_shown_hands_its_share_on() -> None:
    """Twenty questions, of which one may be answered wrong in twenty comparisons."""
    columns = [pairs(f"m{number}", noise(3, number)) for number in range(20)]
    still = [pairs(f"still_{number}", np.zeros(5)) for number in range(30)]
    quiet = [pairs(f"m{number}", noise(5, number)) for number in range(4)]

    alone, beside = levels(quiet), levels([*quiet, pairs("plain", 3 + noise(5))])

    assert list(levels(columns).values()) == pytest.approx([ERROR_RATE / 20] * 20)
    # What never varies cannot be called anything, and leaves its share.
    assert levels([pairs("a", noise(5)), *still]) == {"a": ERROR_RATE}
    assert beside["plain"] == pytest.approx(ERROR_RATE / 5)
    assert {name: beside[name] for name in alone} == pytest.approx(alone)


def test_the_shares_of_all_looks_add_up_to_the_allowed_error() -> None:
    """Who looks after each round asks again and again, and may be wrong each time."""
    shares = [share_of_look(rounds) for rounds in range(FIRST_LOOK, 2000)]
    columns = [pairs(f"m{number}", noise(4, number)) for number in range(5)]

    found = levels(columns, share_of_look(4))

    assert shares[:3] == pytest.approx(
        [ERROR_RATE / 2, ERROR_RATE / 6, ERROR_RATE / 12]
    )
    assert 0.99 * ERROR_RATE < sum(shares) < ERROR_RATE
    assert list(found.values()) == pytest.approx([ERROR_RATE / 10] * 5)
