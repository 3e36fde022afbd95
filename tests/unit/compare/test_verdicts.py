"""From metrics of runs to verdicts, by one look at the end or one after each round."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml

from stowage_testbed.compare.verdicts import (
    ERROR_RATE,
    FIRST_LOOK,
    MeasuredRun,
    Question,
    Verdict,
    judge,
    judge_arm,
    share_of_look,
)
from stowage_testbed.metrics.record import Better, Metric

NAME = "t_sched_mean_s"
ASKED = Question((NAME, "t_sched_p99_s"))
ROUNDS = yaml.safe_load(Path(__file__).with_name("rounds.yaml").read_text("utf-8"))


def runs(
    arm: str, *values: float | None, better: Better = "lower", resolution: float = 0.0, note: str = ""
) -> list[MeasuredRun]:
    return [
        MeasuredRun(arm, "own", number, (Metric(NAME, value, "s", better, 200, resolution, note),))
        for number, value in enumerate(values, start=1)
    ]


def verdict_on(baseline: list[MeasuredRun], arm: list[MeasuredRun], asked: Question = ASKED) -> Verdict:
    (verdict,) = judge_arm(baseline, arm, asked).verdicts
    return verdict


@pytest.mark.parametrize("what", ROUNDS)
def test_a_difference_is_called_if_the_rounds_show_it_and_its_reason_is_given(what: str) -> None:
    """The reader wants to know whether to measure longer."""
    case = dict(ROUNDS[what])
    reason, looks = case.pop("reason"), case.pop("looks", False)
    metric = case.pop("metric", {})
    baseline, arm = runs("a", *case.pop("of"), **metric), case.pop("against")

    asked = replace(ASKED, each_round=looks)
    verdict = verdict_on(baseline, runs("b", *arm, **metric), asked)

    found = {name: getattr(verdict, name) for name in case}
    assert found == pytest.approx(case)
    assert reason in verdict.reason


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
    both = [replace(run, limits=limits) for limits in ("own", "equal") for arm in "abc" for run in runs(arm, 1.0, 1.1)]

    judged = [(one.limits, one.arm) for one in judge(both, "a", ASKED)]
    assert judged == [("own", "b"), ("own", "c"), ("equal", "b"), ("equal", "c")]


def test_a_huge_interval_stays_a_number_and_no_rounds_are_asked_for_nothing() -> None:
    """JSON has no infinity, and whoever measures longer for nothing waits in vain."""
    verdict = verdict_on(runs("a", 1e-200, 1e200), runs("b", 1e200, 1e-200))
    same = verdict_on(runs("a", 1.0, 1.0), runs("b", math.exp(0.1), math.exp(-0.1)))

    assert verdict.high is not None
    assert math.isfinite(verdict.high)
    assert "would show" not in same.reason


def test_an_arm_whose_runs_fail_is_not_better_for_the_others() -> None:
    """A scheduler that recovers in half of its runs would be judged by these."""
    baseline, quick = runs("a", 2.0, 2.1, 1.9, 2.0), runs("b", 1.0, 1.06, 0.93, 1.02)
    broken = [*quick[:-1], replace(quick[-1], error="no pod was placed")]

    assert verdict_on(baseline, quick).outcome == "better"
    found = verdict_on(baseline, broken)
    assert found.outcome == "not judged"
    assert "more of its runs have no value" in found.reason


def levels(columns: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return how often each interval may miss, where the baseline is always 1."""

    def measured(arm: str, values: Mapping[str, Sequence[float]]) -> list[MeasuredRun]:
        by_round = zip(
            *([replace(*run.metrics, name=name) for run in runs(arm, *one)] for name, one in values.items()),
            strict=True,
        )
        return [MeasuredRun(arm, "own", n, found) for n, found in enumerate(by_round)]

    baseline = measured("a", dict.fromkeys(columns, [1.0] * 5))
    found = judge_arm(baseline, measured("b", columns), Question(tuple(columns)))
    return {verdict.name: 1 - verdict.confidence for verdict in found.verdicts}


def test_headlines_share_the_error_and_what_is_shown_hands_its_share_on() -> None:
    """Twenty questions, of which one may be answered wrong in twenty comparisons."""
    quiet = {f"m{seed}": np.exp(np.random.default_rng(seed).normal(0, 0.1, 5)).tolist() for seed in range(4)}
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
    each_round = replace(ASKED, each_round=True)
    return verdict_on(baseline, runs("b", *arm, resolution=0.001), each_round)


def test_looks_share_the_error() -> None:
    """Who looks after each round asks again and again, and may be wrong each time."""
    spent = [1 - looked_at(*QUICK[:rounds][::-1]).confidence for rounds in (4, 5, 6)]
    shares = sum(share_of_look(rounds) for rounds in range(FIRST_LOOK, 2000))

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
