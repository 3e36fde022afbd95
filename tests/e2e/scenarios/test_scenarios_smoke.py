"""The smoke scenarios, through the function behind `stowage run`, on one cluster."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from stowage_testbed.pytest.scenario_items import list_reports
from stowage_testbed.pytest.scenario_runs import run_scenarios
from stowage_testbed.report.bundle import Bundle
from stowage_testbed.report.showing import write_screen
from stowage_testbed.run.outcome import RunOutcome
from stowage_testbed.run.request import RunRequest, choose_scenarios, list_tasks
from stowage_testbed.scenario.model import BEFORE
from stowage_testbed.scenario.steps.checking import END
from stowage_testbed.toolchain import tool_path
from stowage_testbed.toolchain.environment import environment
from stowage_testbed.toolchain.manifest import built_minors

SCENARIOS = Path(__file__).parents[3] / "scenarios"

BY_LOT = {"plans/stock-limits@small"}
"""The profile `optimizer` leaves the choice among equal nodes to the stock scheduler's
random generator, and here there are sixty."""

pytestmark = [pytest.mark.e2e, pytest.mark.smoke]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return Bundle(tmp_path_factory.mktemp("results"), "run-1", environment())


@pytest.fixture(scope="module")
def outcome(bundle: Bundle) -> RunOutcome:
    chosen = choose_scenarios((), folder=SCENARIOS, labels=["smoke"])
    return run_scenarios(RunRequest(chosen), bundle)


def test_every_smoke_scenario_passes(outcome: RunOutcome) -> None:
    """From files to verified placements; a run that stops early is no short one."""
    chosen = list_tasks(RunRequest(choose_scenarios((), folder=SCENARIOS, labels=["smoke"])))

    assert outcome.passed, write_screen(outcome)
    assert [item.scenario_id for item in outcome.scenarios] == [task.scenario.scenario_id for task in chosen]


@pytest.mark.nightly
@pytest.mark.parametrize("minor", built_minors()[1:])
def test_the_other_minors_place_alike(outcome: RunOutcome, minor: str, tmp_path: Path) -> None:
    """Whoever upgrades must know which pods will land elsewhere, and why."""
    # A run reports a missing tool as its own error; here it skips the test, as for every test of another minor.
    tool_path("kube-apiserver", minor)
    chosen = choose_scenarios((), folder=SCENARIOS, labels=["smoke"])

    bundle = Bundle(tmp_path, "run-2", environment(minor))
    other = run_scenarios(RunRequest(chosen, minor=minor), bundle)

    assert other.passed, write_screen(other)
    assert _first_hashes(other) == _first_hashes(outcome)


def _first_hashes(outcome: RunOutcome) -> dict[str, str]:
    return {
        one.scenario_id: one.checkpoints[0].placement_hash for one in outcome.scenarios if one.scenario_id not in BY_LOT
    }


def test_every_pod_that_was_bound_has_a_latency(outcome: RunOutcome) -> None:
    """A watch that misses a pod would bend the percentiles."""
    first = [item.checkpoints[0] for item in outcome.scenarios if item.checkpoints]

    assert {BEFORE, END} < {one.name for one in first}
    for one in first:
        assert one.latency.audit_lag_s is not None
        if one.name == BEFORE:
            assert one.latency.n == one.placed
        # Pods that were evicted, or are done, had their latency too.
        assert one.latency.n > 0


def test_a_measured_window_lies_between_its_steps(outcome: RunOutcome) -> None:
    """Metrics are of the burst, not of what came before it."""
    (burst,) = (item for item in outcome.scenarios if item.scenario_id == "burst/deployment-200@small")

    assert burst.window is not None
    (end,) = burst.checkpoints
    assert end.latency.n == 40
    metrics = {metric.name: metric.value for metric in burst.metrics}
    assert metrics["placed_pods"] == 40
    assert metrics["jain_pods"] == pytest.approx(1.0, abs=0.02)
    steps_s = sum(record.duration_s for record in burst.steps)
    assert 0 < burst.window.length_s < steps_s


def test_the_bundle_holds_events_and_configuration(outcome: RunOutcome, bundle: Bundle) -> None:
    """Every table must be made again from it, without a cluster."""
    document = json.loads((bundle.folder / "run.json").read_text())

    assert document["passed"] is True
    assert len(document["scenarios"]) == len(outcome.scenarios)
    folder = bundle.folder / "paper-figure-1" / "round-1"
    lines = (folder / "events.jsonl").read_text().splitlines()
    changes = [json.loads(line) for line in lines]
    assert {"Pod", "Node", "PackingPlan"} <= {change["kind"] for change in changes}
    receipts = [change["monotonic_ns"] for change in changes]
    assert receipts == sorted(receipts)
    assert "PriorityOptimizer" in (folder / "scheduler-optimizer.yaml").read_text()


def test_the_reports_can_be_made(outcome: RunOutcome) -> None:
    """Real outcomes are richer than the ones that unit tests make up."""
    shown = write_screen(replace(outcome, environment=environment()))

    assert "paper/figure-1" in shown
    assert "reservation/migration" in shown
    names = [one.nodeid for one in list_reports(outcome)]
    assert {"scenarios/paper::figure-1 round 1", "scenarios/reservation::migration round 1"} <= set(names)
