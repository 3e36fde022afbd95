"""The check that arms are a fair comparison, row by row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stowage_testbed.compare.preflight import preflight
from stowage_testbed.run.arm import ArmSettings

SAME = ArmSettings(
    version="v1",
    qps=50,
    burst=100,
    parallelism=16,
    sampled_percent=None,
    feature_gates={"Batching": False},
)


def compared(**changes: Any) -> Any:
    """Compare an arm with one that differs in some settings."""
    return preflight({"a": SAME, "b": replace(SAME, **changes)})


def test_equal_arms_are_a_fair_comparison() -> None:
    """Nobody would get to a comparison otherwise."""
    check = compared()

    assert check.refusal is None
    assert {line["verdict"] for line in check.table()} == {"same"}


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
    check = compared(**changes)

    assert check.refusal is not None
    assert [one.name for one in check.refusal.differences] == [row]
    line = next(line for line in check.table() if line[""] == row)
    assert (line["a"], line["b"], line["verdict"]) == (a, b, "unfair")


def test_versions_may_differ() -> None:
    """They are what is compared."""
    check = compared(version="v2")

    assert check.refusal is None
    assert check.table()[0]["verdict"] == "differs"


def test_a_scheduler_without_parallelism_cannot_differ_in_it() -> None:
    """It could not be given any; what it does instead is in its notes."""
    check = compared(parallelism=None)

    assert check.refusal is None
    assert {row.name: row.values["b"] for row in check.rows}["parallelism"] == "-"


def test_a_refusal_names_each_difference_and_the_ways_out() -> None:
    """One difference a run would take many runs."""
    words = str(compared(qps=1000, burst=2000).refusal)

    assert "client QPS: a 50, b 1000" in words
    assert "client burst: a 100, b 2000" in words
    assert "--limits equal" in words
    assert "--allow-unfair" in words


def test_one_arm_alone_is_fair() -> None:
    """An arm against itself is how the statistics are tried."""
    assert preflight({"a": SAME}).refusal is None


def test_what_cannot_be_made_equal_is_kept_beside_the_table() -> None:
    """The reader of a result must see it; so must the webhooks that delay every pod."""
    settings = {"a": SAME, "b": replace(SAME, notes=("is different",))}

    check = preflight(settings, ["mine/webhook"])

    assert check.notes == {"b": ("is different",)}
    assert check.webhooks == ("mine/webhook",)
