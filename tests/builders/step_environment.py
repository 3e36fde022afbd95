"""Carrying the steps of a text out on a live cluster, as a scenario of their own."""

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stowage_testbed.api.pod_templates import PodOverrides
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.execution import Harness
from stowage_testbed.run.listener import Listener, RunRecorder
from stowage_testbed.run.outcome import ScenarioOutcome
from stowage_testbed.run.scenario_run import run_scenario
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.context import WindowListener

ROUNDS = itertools.count(1)

HEAD = """\
version: 1
name: test/case
description: Steps under test.
nodes: [{count: 1, cpu: "1", memory: 1G}]
"""
WORKLOAD = {
    "web": "  - {name: web, kind: Deployment, cpu: 400m, memory: 100M}\n",
    "task": "  - {name: task, cpu: 10m, memory: 1M}\n",
}


class Served(Harness, Listener):
    """A release serves already; the pods are listed before they are cleared away."""

    is_released = False
    is_judged = False

    def __init__(
        self, context: RunContext, pod_overrides: PodOverrides | None, window_listener: WindowListener
    ) -> None:
        self._context = context
        self.pod_overrides = pod_overrides
        self.window_listener = window_listener
        self.pods: list[dict[str, Any]] = []

    def scenario_finished(self, outcome: ScenarioOutcome, records: RunRecorder) -> None:
        """List the pods."""
        self.pods = self._context.objects.list_all("Pod", records.namespace)


@dataclass
class StepEnvironment:
    """Carries out the steps of a text, and remembers the pods as they were then."""

    context: RunContext
    folder: Path
    pods: list[dict[str, Any]]

    def play(
        self, text: str, pod_overrides: PodOverrides | None = None, window_listener: WindowListener | None = None
    ) -> ScenarioOutcome:
        """Carry the steps out and leave the cluster as it was."""
        path = self.folder / "test" / "case.yaml"
        path.parent.mkdir(exist_ok=True)
        used = [line for name, line in WORKLOAD.items() if name in text]
        workload = [] if text.startswith("workload:") else ["workload:\n", *used]
        path.write_text("".join((HEAD, *workload, text)))
        (scenario,) = load_file(path)
        return self.play_scenario(scenario, pod_overrides, window_listener)

    def play_scenario(
        self,
        scenario: Scenario,
        pod_overrides: PodOverrides | None = None,
        window_listener: WindowListener | None = None,
    ) -> ScenarioOutcome:
        """Do the same with the steps of a scenario."""
        listener = window_listener or WindowListener()
        served = Served(self.context, pod_overrides, listener)
        # A namespace lives on for seconds after it was cleared.
        number = next(ROUNDS)
        outcome = run_scenario(self.context, scenario, number, served, served)
        self.pods = served.pods
        return outcome

    def facts(self, kind: str, name: str) -> set[str | None]:
        """Return what the pods' labels or annotations say under a name."""
        said = [pod["metadata"].get(kind) or {} for pod in self.pods]
        return {one.get(name) for one in said}
