"""The check that arms are a fair comparison, row by row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stowage_testbed.compare.comparison import PreflightRow
from stowage_testbed.compare.session.beginning import compare_settings, explain_refusal
from stowage_testbed.run.arm import ArmSettings

SAME = ArmSettings(
    version="v1",
    qps=50,
    burst=100,
    parallelism=16,
    sampled_percent=None,
    feature_gates={"Batching": False},
)


def compared(**changes: Any) -> tuple[PreflightRow, ...]:
    """Compare an arm with one that differs in some settings."""
    return compare_settings({"a": SAME, "b": replace(SAME, **changes)})


def test_equal_arms_are_a_fair_comparison() -> None:
    """Nobody would get to a comparison otherwise."""
    rows = compared()

    assert not explain_refusal(rows)
    assert not any(row.differs for row in rows)
    # An arm against itself is how the statistics are tried.
    assert not explain_refusal(compare_settings({"a": SAME}))
    # Versions are what is compared.
    other = compared(version="v2")
    assert not explain_refusal(other)
    assert other[0].differs


@pytest.mark.parametrize(
    ("row", "changes", "a", "b"),
    [
        ("client QPS", {"qps": 1000}, "50", "1000"),
        ("client QPS", {"qps": None}, "50", "no limit"),
        ("client burst", {"burst": 1000}, "100", "1000"),
        ("parallelism", {"parallelism": 1}, "16", "1"),
        ("nodes scored", {"sampled_percent": 100}, "adaptive", "100 %"),
        ("feature gate Batching", {"feature_gates": {"Batching": True}}, "off", "on"),
        ("feature gate Batching", {"feature_gates": {}}, "off", "not told"),
        ("webhooks", {"webhooks": ("x/y",)}, "none", "x/y"),
    ],
)
def test_a_difference_that_could_explain_a_result_is_refused(
    row: str, changes: dict[str, Any], a: str, b: str
) -> None:
    """Each of them alone can outweigh what the schedulers differ by."""
    (unfair,) = (one for one in compared(**changes) if not one.fair)

    assert unfair.setting == row
    assert unfair.values == {"a": a, "b": b}


def test_a_scheduler_without_parallelism_cannot_differ_in_it() -> None:
    """It could not be given any; what it does instead is in its notes."""
    rows = compared(parallelism=None)

    assert not explain_refusal(rows)
    assert {row.setting: row.values["b"] for row in rows}["parallelism"] == "-"


def test_a_refusal_names_each_difference_and_the_ways_out() -> None:
    """One difference a run would take many runs."""
    words = explain_refusal(compared(qps=1000, burst=2000))

    assert "client QPS: a 50, b 1000" in words
    assert "client burst: a 100, b 2000" in words
    assert "--limits equal" in words
    assert "--allow-unfair" in words
