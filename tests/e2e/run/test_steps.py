"""Steps on a live cluster: what they do, and what is left when one fails."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from step_environment import StepEnvironment
from stowage_run import CHECKOUT

from stowage_testbed.api import kinds
from stowage_testbed.api.client import ask
from stowage_testbed.cluster.components import HOST_NODE
from stowage_testbed.observe.change import Receipt, ReceiptClock
from stowage_testbed.run.context import RunContext
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.steps.checking import FAILED
from stowage_testbed.scenario.steps.context import WindowListener

pytestmark = pytest.mark.e2e

CASES = yaml.safe_load(Path(__file__).with_name("steps.yaml").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_steps_do_and_say_what_is_expected(environment: StepEnvironment, case: dict[str, Any]) -> None:
    """Why stands beside each of them."""
    outcome = environment.play(case["scenario"])

    errors, caught = case.get("error", []), case.get("caught", {})
    assert bool(outcome.error) is bool(errors), outcome.error
    assert [one for one in errors if one not in outcome.error] == [], outcome.error
    wrong = [f"{one.name}: {one.message}" for one in outcome.failed_checks]
    failed = case.get("failed", [])
    assert len(wrong) == len(failed), wrong
    assert [part in said for part, said in zip(failed, wrong, strict=True)] == [True for _ in failed], wrong
    assert outcome.evidence.keys() == caught.keys()
    for name, parts in caught.items():
        assert [one for one in parts if one not in outcome.evidence[name]] == []
    assert outcome.refused is case.get("refused", False)
    assert not (outcome.refused and outcome.steps)
    if outcome.steps and errors:
        assert outcome.steps[-1].error
        assert outcome.checkpoints[-1].name == FAILED


def test_a_kind_of_ones_own_goes_with_the_scenario(environment: StepEnvironment) -> None:
    """A definition that is left behind would fail the second one."""
    path = CHECKOUT / "scenarios" / "kubernetes" / "custom-objects.yaml"
    (scenario,) = load_file(path)

    for _ in range(2):
        outcome = environment.play_scenario(scenario)

        assert (outcome.error, outcome.failed_checks) == ("", ())


def test_devices_that_a_cluster_does_not_serve_are_refused_and_nothing_is_left(
    context: RunContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older cluster serves another version, which must not keep it from being cleared.

    No API server that is built here starts without this one, so that only the list of what it serves is an older one's.
    """
    (scenario,) = load_file(CHECKOUT / "scenarios" / "devices" / "whole.yaml")

    def discover(*asked: Any, **how: Any) -> dict[str, Any]:
        answer = ask(*asked, **how)
        groups = [one for one in answer["items"] if one["metadata"].get("name") != "resource.k8s.io"]
        return {**answer, "items": groups}

    monkeypatch.setattr(kinds, "ask", discover)
    with context.cluster.api_client() as api:
        outcome = StepEnvironment(replace(context, api=api), tmp_path, []).play_scenario(scenario)

    assert "the cluster serves no DeviceClass of resource.k8s.io/v1" in outcome.error
    assert [one["metadata"]["name"] for one in context.objects.list_all("Node")] == [HOST_NODE]


class Stopwatch(WindowListener):
    """Notes when it was opened and closed."""

    def __init__(self, clock: ReceiptClock) -> None:
        self._clock = clock
        self.at: list[Receipt] = []

    def open(self) -> None:
        """Note the moment."""
        self.at.append(self._clock.now())

    def close(self) -> None:
        """Note the moment."""
        self.open()


def test_the_window_lies_inside_the_calls_of_a_window_listener(
    environment: StepEnvironment, context: RunContext
) -> None:
    """What reading memory and CPU time costs is not measured."""
    window_listener = Stopwatch(context.observer.clock)

    outcome = environment.play(
        "steps: [{measure: start}, {burst: {workload: task, pods: 1}}, "
        "{wait: {for: bound}}, {measure: stop}]\nexpect: {end: {placed: 1}}\n",
        window_listener=window_listener,
    )

    assert outcome.window is not None
    opened, closed = window_listener.at
    assert opened < outcome.window.start < outcome.window.stop < closed
