"""The first sentence of a report."""

from __future__ import annotations

from dataclasses import replace

import pytest
from burst_runs import BurstArm, burst_rounds
from comparisons import a_comparison, a_result

from stowage_testbed.compare.reports import comparison_markdown, screen
from stowage_testbed.compare.result import Result
from stowage_testbed.compare.tables.clocks import describe_clocks, name_clock
from stowage_testbed.compare.tables.lead import lead_sentence
from stowage_testbed.compare.verdicts.judging import Question


def compared(service_s: float, rounds: int = 5) -> Result:
    """Return a comparison with an arm that takes so long for a pod."""
    arms = (BurstArm("default"), BurstArm("other", service_s=service_s))
    return a_result(burst_rounds(1, arms, rounds))


def sentence(result: Result) -> str:
    (judged,) = result.verdicts
    return lead_sentence(judged)


@pytest.mark.parametrize(
    ("service_s", "begin"),
    [
        (0.02, "default is "),
        (0.0005, "other is "),
        (0.004, "Neither other nor default is shown to be faster by 5 rounds"),
    ],
)
def test_it_says_who_is_faster(service_s: float, begin: str) -> None:
    """Whoever reads no further must have the answer."""
    assert sentence(compared(service_s)).startswith(begin)


def test_it_says_by_how_much_and_how_sure() -> None:
    """The factor is above 1 whoever is the quicker one, and within its interval."""
    for service_s in (0.02, 0.0005):
        said = sentence(compared(service_s))
        words = said.split()
        estimate = float(words[2])
        low, high = (
            float(words[words.index("(between") + 1]),
            float(words[words.index("and") + 1]),
        )
        assert 1 < low <= estimate <= high
        assert "5 rounds" in said
        assert "1 in 20" in said


def test_one_round_has_no_answer() -> None:
    """It has no spread, and the reason is given."""
    assert "one round shows no spread" in sentence(compared(0.02, rounds=1))


def test_a_headline_that_is_no_time_is_better_or_worse() -> None:
    """Nobody is faster by placing more pods."""
    about = replace(
        a_comparison(("default", "other")), question=Question(("pods_per_node_std",))
    )
    arms = (BurstArm("default", skew=0.5), BurstArm("other", skew=0.0))
    result = a_result(burst_rounds(1, arms, 8), about)

    assert sentence(result).startswith("other is better than default: pods_per_node")


def test_every_report_begins_with_it() -> None:
    """In the terminal, in Markdown below the heading."""
    result = compared(0.02)
    said = sentence(result)

    assert screen(result).startswith(said)
    assert (
        comparison_markdown(result, whole=False)
        .split("\n")[2]
        .startswith(f"- {said[:20]}")
    )


def test_the_clock_of_each_run_is_named() -> None:
    """One run without a whole audit log must not pass for the others."""
    record, other = burst_rounds(1, (BurstArm("default"),), 2)

    assert name_clock([record, other]) == "watch receipt"
    mixed = [replace(record, clock="API server's answers", answers_late_s=0.004), other]
    assert name_clock(mixed) == (
        "API server's answers (1 runs) and watch receipt (1 runs)"
    )
    assert "up to 4 ms late" in describe_clocks(mixed)
    assert "late" not in describe_clocks([other])
