"""Which metrics of a scenario get a verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stowage_testbed.compare.session.request import choose_scenario
from stowage_testbed.metrics.catalogue import metrics_of
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.scenario.headlines import (
    GENERAL,
    MOST_HEADLINES,
    OF_RECOVERY,
    choose_headlines,
)

SCENARIOS = Path(__file__).parents[3] / "scenarios"


@pytest.mark.parametrize(
    ("name", "first"),
    [("burst/deployment-200", GENERAL), ("hpa/recovery", OF_RECOVERY)],
)
def test_they_are_few_and_begin_with_what_is_asked_first(
    name: str, first: tuple[str, ...]
) -> None:
    """Each one more makes all of them harder to show."""
    found = choose_headlines(choose_scenario(name, SCENARIOS, None))

    assert found[: len(first)] == first
    assert len(found) <= MOST_HEADLINES


def test_what_a_scenario_bounds_is_among_them() -> None:
    """Its author has said that it matters."""
    found = choose_headlines(choose_scenario("burst/deployment-200", SCENARIOS, None))

    assert "t_sched_max_s" in found


def test_a_scenario_may_name_its_own() -> None:
    """And then there are no others."""
    scenario = choose_scenario("burst/deployment-200", SCENARIOS, None)
    named = replace(scenario, headlines=("jain_pods",))

    assert choose_headlines(named) == ("jain_pods",)


def test_the_general_ones_are_metrics() -> None:
    """A name that is none would never get a verdict, and never be missed."""
    record = RunRecord("a/b", "default", "own", 1, (), (), 1.0)

    assert set(GENERAL) <= {metric.name for metric in metrics_of(record)}
