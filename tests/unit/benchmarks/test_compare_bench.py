"""The benchmark of comparisons: what it makes of runs, without running any."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from burst_runs import BurstArm, burst_rounds
from comparisons import a_result
from hpa_records import hpa_record

from benchmarks.comparison.scope import DEFAULT, FULL, SMOKE
from stowage_testbed.compare.arms.registry import ARMS
from stowage_testbed.compare.session.request import choose_scenario
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.reproduce.scorecache.comparison_figures import comparison_figures
from stowage_testbed.reproduce.scorecache.comparisons import Planned
from stowage_testbed.scenario.headlines import is_measured
from stowage_testbed.text.figure import Figure

SCENARIOS = Path(__file__).parents[3] / "scenarios"
BURST = Planned("burst", "burst/deployment-200", rounds=6)


def figures_of(records: list[RunRecord]) -> dict[str, Figure]:
    return {one.name: one for one in comparison_figures(BURST, a_result(records))}


def bursts(ours_s: float) -> list[RunRecord]:
    arms = (BurstArm("default"), BurstArm("stowage-score-cache", service_s=ours_s))
    return burst_rounds(1, arms, 6)


@pytest.mark.parametrize(
    ("ours_s", "met"), [(0.001, True), (0.004, True), (0.02, False)]
)
def test_our_arm_must_not_be_slower_than_the_stock_scheduler(
    ours_s: float, met: bool
) -> None:
    """What the verdict says is the target; a mere estimate is none."""
    found = figures_of(bursts(ours_s))

    change = found[
        "burst, own limits: stowage-score-cache over default: t_sched_mean_s"
    ]
    assert change.met is met
    assert change.runs == 6
    assert len(change.spread) == 2


def test_each_arm_has_its_own_figures_with_their_spread() -> None:
    """A ratio alone does not say whether a scheduler is quick."""
    found = figures_of(bursts(0.004))

    for arm in ("default", "stowage-score-cache"):
        placed = found[f"burst, own limits: {arm}: placed_pods"]
        assert (placed.value, placed.unit, placed.runs) == (200, "pods", 6)
        assert found[f"burst, own limits: {arm}: t_sched_mean_s"].spread


def test_a_run_that_failed_is_counted_and_reported() -> None:
    """Figures of the others would look like those of all."""
    records = bursts(0.004)
    records[3] = replace(records[3], error="the scheduler ended")

    failed = figures_of(records)["burst: runs that failed"]

    assert (failed.value, failed.met) == (1, False)
    assert "stowage-score-cache: the scheduler ended" in failed.note


def test_what_became_of_an_overloaded_service_is_counted() -> None:
    """All three outcomes have to be reached by some variant."""
    records = [replace(one, recovery=hpa_record()) for one in bursts(0.004)[:2]]

    outcomes = figures_of(records)["burst, own limits: default: outcomes"]

    assert (outcomes.value, outcomes.note) == (1, "1 no_degradation")


@pytest.mark.parametrize("scope", [SMOKE, DEFAULT, FULL], ids=lambda one: one.name)
def test_every_comparison_can_be_asked_for(scope: object) -> None:
    """A name that is wrong would show itself after half an hour."""
    for planned in scope.comparisons:  # type: ignore[attr-defined]
        scenario = choose_scenario(planned.scenario, SCENARIOS, planned.variant)
        assert is_measured(scenario)
        assert set(planned.arms) <= set(ARMS)
    names = [planned.name for planned in scope.comparisons]  # type: ignore[attr-defined]
    assert len(set(names)) == len(names)
