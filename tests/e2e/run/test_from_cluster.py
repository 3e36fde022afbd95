"""What a cluster is like is found again in the scenario that is made of it."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from step_environment import ROUNDS, Served, StepEnvironment

from stowage_testbed.api.client import Manifest
from stowage_testbed.capture.capture import Capture, capture
from stowage_testbed.capture.neutral import make_neutral
from stowage_testbed.capture.reading import read_api
from stowage_testbed.capture.writing import write_scenario
from stowage_testbed.observe.pod import node_of
from stowage_testbed.run.listener import RunRecorder
from stowage_testbed.run.outcome import ScenarioOutcome
from stowage_testbed.run.scenario_run import run_scenario
from stowage_testbed.scenario.expected import ExpectedMoment
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.steps.context import WindowListener

pytestmark = pytest.mark.e2e

SCENARIOS = Path(__file__).parents[3] / "scenarios"


class Captured(Served):
    """Captures the cluster before it is cleared away."""

    def __init__(self, environment: StepEnvironment) -> None:
        super().__init__(environment.context, None, WindowListener())
        self.capture: Capture
        self.pods: list[Manifest]
        self.checks = 0

    def scenario_finished(self, outcome: ScenarioOutcome, records: RunRecorder) -> None:
        """Read the cluster as a stranger would."""
        super().scenario_finished(outcome, records)
        self.capture = capture(read_api(self._context.api))
        self.checks = len(outcome.checks)


def play(environment: StepEnvironment, path: Path, steps: int | None = None) -> Captured:
    """Play a scenario, or so many of the first steps of its file, after which nothing is expected."""
    (scenario,) = load_file(path)
    if steps:
        expect = replace(scenario.expect, end=ExpectedMoment())
        assert scenario.steps[0].kind == "release"  # Which loading puts before those of the file
        scenario = replace(scenario, steps=scenario.steps[: steps + 1], expect=expect)
    served = Captured(environment)
    context, number = environment.context, next(ROUNDS)
    outcome = run_scenario(context, scenario, number, served, served)
    assert outcome.error == ""
    assert [one.message for one in outcome.checks if not one.passed] == []
    return served


def by_kind(pods: list[Manifest]) -> Counter[tuple[str, str]]:
    """Count the pods of each workload on each kind of node."""
    return Counter((pod["metadata"]["labels"]["stowage.dev/workload"], node_of(pod).rpartition("-")[0]) for pod in pods)


def test_pods_are_on_the_same_kinds_of_node_and_pend_for_the_same_reasons(
    environment: StepEnvironment, tmp_path: Path
) -> None:
    """What went wrong in production fails in CI a minute later.

    What is attached to a public issue shows it as well, in other words.
    """
    first = play(environment, Path(__file__).with_name("shop.yaml"))
    there = by_kind(first.pods)

    again = play(environment, write_scenario(first.capture, tmp_path / "again"))
    neutral = make_neutral(first.capture)
    other = play(environment, write_scenario(neutral, tmp_path / "neutral"))

    assert again.checks >= 4
    assert by_kind(again.pods) == there
    assert sorted(by_kind(other.pods).values()) == sorted(there.values())


def describe(captured: Capture) -> object:
    """Return what a capture says of devices: nodes, slices, classes, claims, and what is allocated to pods."""
    pods = [
        (one.name, one.kind, node, devices)
        for one in captured.workloads
        for node, devices in zip(one.nodes, one.devices, strict=True)
    ]
    return captured.pools, captured.objects, sorted(pods, key=str)


def list_devices(captured: Capture) -> list[tuple[str, object]]:
    """Return the devices that pods have, and how much of each."""
    pods = (devices for one in captured.workloads for devices in one.devices)
    return sorted(((one.device, one.capacity) for devices in pods for one in devices or ()), key=str)


def test_the_scheduler_places_pods_whose_extended_resources_are_devices(
    environment: StepEnvironment, tmp_path: Path
) -> None:
    """It makes their claims itself when it places them."""
    first = play(environment, SCENARIOS / "devices" / "extended.yaml")
    again = play(environment, write_scenario(first.capture, tmp_path / "again"))

    assert len(again.pods) == len(first.pods)
    assert by_kind(again.pods) == by_kind(first.pods)
    assert [*map(len, first.capture.notes.values())] == [1]


@pytest.mark.parametrize(
    ("name", "steps", "described"),
    [
        pytest.param("shared", None, True, id="devices that are shared"),
        pytest.param("failing", 4, True, id="devices with a taint that evicted a pod"),
        pytest.param("failing", 11, False, id="devices that vanished under their pods"),
        pytest.param("partitioned", None, True, id="partitions"),
    ],
)
def test_pods_have_the_same_devices_in_a_cluster_that_is_made_of_another(
    name: str, steps: int | None, described: bool, environment: StepEnvironment, tmp_path: Path
) -> None:
    """Which device a pod has decides what is left for others; no node lists what the scheduler would choose today."""
    first = play(environment, SCENARIOS / "devices" / f"{name}.yaml", steps)
    again = play(environment, write_scenario(first.capture, tmp_path / "again"))
    other = play(environment, write_scenario(make_neutral(first.capture), tmp_path / "neutral"))

    assert list_devices(other.capture) == list_devices(first.capture)
    assert describe(again.capture) == describe(first.capture)
    assert any(pool.devices for pool in first.capture.pools) is described
    assert any(devices for one in first.capture.workloads for devices in one.devices)
