"""What a cluster is like is found again in the scenario that is made of it."""

from collections import Counter
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
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.steps.context import WindowListener

pytestmark = pytest.mark.e2e


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


def play(environment: StepEnvironment, path: Path) -> Captured:
    (scenario,) = load_file(path)
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
