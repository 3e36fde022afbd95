"""Listeners to the progress of a run: progress bar, bundle, evidence, meters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stowage_testbed.run.outcome import RunOutcome, ScenarioOutcome
from stowage_testbed.scenario.model import Scenario

if TYPE_CHECKING:
    from stowage_testbed.run.recorder import RunRecorder


class Listener:
    """Receives every step, in order, in the run's own thread.

    By itself it does nothing but to pass on what it is told: a listener overrides what it cares for.
    """

    listeners: tuple[Listener, ...] = ()

    def __init__(self, *listeners: Listener) -> None:
        self.listeners = listeners

    def run_started(self, run_id: str, total: int) -> None:
        """Take note that so many scenario runs will come."""
        for one in self.listeners:
            one.run_started(run_id, total)

    def run_progress(self, text: str) -> None:
        """Take note of a step of the run as a whole, as in "cluster x: up"."""
        for one in self.listeners:
            one.run_progress(text)

    def scenario_started(self, scenario: Scenario, repeat: int) -> None:
        """Take note that a scenario begins."""
        for one in self.listeners:
            one.scenario_started(scenario, repeat)

    def scenario_progress(self, text: str) -> None:
        """Take note of what the scenario waits for now."""
        for one in self.listeners:
            one.scenario_progress(text)

    def scenario_ended(self, outcome: ScenarioOutcome) -> None:
        """Take note of what came of the scenario, before it is cleaned up."""
        for one in self.listeners:
            one.scenario_ended(outcome)

    def scenario_finished(self, outcome: ScenarioOutcome, records: RunRecorder) -> None:
        """Take the outcome and what was recorded, right after `scenario_ended`."""
        for one in self.listeners:
            one.scenario_finished(outcome, records)

    def say(self, text: str) -> None:
        """Show a line that stays."""
        for one in self.listeners:
            one.say(text)

    def run_finished(self, outcome: RunOutcome) -> None:
        """Take the outcome of the whole run."""
        for one in self.listeners:
            one.run_finished(outcome)
