"""Carrying the steps of a text out on a live cluster, as a scenario of their own."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stowage_testbed.run.arm import PodOverrides
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.environment import clear, prepare
from stowage_testbed.run.listener import Listener, WindowListener
from stowage_testbed.run.recorder import RunRecorder
from stowage_testbed.run.steps.execution import run_steps
from stowage_testbed.run.steps.outcome import SteppedOutcome
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.model import Scenario

ROUNDS = itertools.count(1)

HEAD = """\
version: 1
name: test/case
description: Steps under test.
nodes: [{count: 1, cpu: "1", memory: 1G}]
workload:
"""
WORKLOAD = {
    "web": "  - {name: web, kind: Deployment, cpu: 400m, memory: 100M}\n",
    "task": "  - {name: task, cpu: 10m, memory: 1M}\n",
}


@dataclass
class StepEnvironment:
    """Carries out the steps of a text, and remembers the pods as they were then."""

    context: RunContext
    folder: Path
    pods: list[dict[str, Any]]

    def play(
        self,
        text: str,
        pod_overrides: PodOverrides | None = None,
        window_listener: WindowListener | None = None,
    ) -> SteppedOutcome:
        """Carry the steps out and leave the cluster as it was."""
        path = self.folder / "test" / "case.yaml"
        path.parent.mkdir(exist_ok=True)
        used = (line for name, line in WORKLOAD.items() if name in text)
        path.write_text("".join((HEAD, *used, text)))
        (scenario,) = load_file(path)
        return self.play_scenario(scenario, pod_overrides, window_listener)

    def play_scenario(
        self,
        scenario: Scenario,
        pod_overrides: PodOverrides | None = None,
        window_listener: WindowListener | None = None,
    ) -> SteppedOutcome:
        """Do the same with the steps of a scenario."""
        recorder = RunRecorder(self.context, Listener())
        # A namespace lives on for seconds after it was cleared.
        number = next(ROUNDS)
        environment = prepare(self.context, scenario, number)
        try:
            outcome = run_steps(
                self.context,
                scenario,
                environment,
                pod_overrides,
                recorder,
                window_listener=window_listener,
            )
            self.pods = self.context.objects.listed("Pod", environment.namespace)
        finally:
            clear(self.context, scenario, number)
        return outcome

    def facts(self, kind: str, name: str) -> set[str | None]:
        """Return what the pods' labels or annotations say under a name."""
        said = [pod["metadata"].get(kind) or {} for pod in self.pods]
        return {one.get(name) for one in said}
