"""Listeners to the progress of a run: progress bar, bundle, evidence, meters."""

from __future__ import annotations

from collections.abc import Callable

from stowage_testbed.run.material import Material
from stowage_testbed.run.outcome import RunOutcome, ScenarioOutcome
from stowage_testbed.scenario.model import Scenario


class Listener:
    """Receives every step, in order, in the run's own thread.

    Does nothing by itself: a listener overrides what it cares for.
    """

    def run_started(self, run_id: str, total: int) -> None:
        """Take note that so many scenario runs will come."""

    def run_progress(self, text: str) -> None:
        """Take note of a step of the run as a whole, as in "cluster x: up"."""

    def scenario_started(self, scenario: Scenario, repeat: int) -> None:
        """Take note that a scenario begins."""

    def scenario_progress(self, text: str) -> None:
        """Take note of what the scenario waits for now."""

    def scenario_ended(self, outcome: ScenarioOutcome) -> None:
        """Take note of what came of the scenario, before it is cleaned up."""

    def scenario_finished(self, outcome: ScenarioOutcome, material: Material) -> None:
        """Take the outcome and its records, right after `scenario_ended`."""

    def say(self, text: str) -> None:
        """Show a line that stays."""

    def run_finished(self, outcome: RunOutcome) -> None:
        """Take the outcome of the whole run."""


class Listeners(Listener):
    """Several listeners as one."""

    def __init__(self, *listeners: Listener) -> None:
        self._listeners = listeners

    def run_started(self, run_id: str, total: int) -> None:
        """Notify every listener."""
        for listener in self._listeners:
            listener.run_started(run_id, total)

    def run_progress(self, text: str) -> None:
        """Notify every listener."""
        for listener in self._listeners:
            listener.run_progress(text)

    def scenario_started(self, scenario: Scenario, repeat: int) -> None:
        """Notify every listener."""
        for listener in self._listeners:
            listener.scenario_started(scenario, repeat)

    def scenario_progress(self, text: str) -> None:
        """Notify every listener."""
        for listener in self._listeners:
            listener.scenario_progress(text)

    def scenario_ended(self, outcome: ScenarioOutcome) -> None:
        """Notify every listener."""
        for listener in self._listeners:
            listener.scenario_ended(outcome)

    def scenario_finished(self, outcome: ScenarioOutcome, material: Material) -> None:
        """Notify every listener."""
        for listener in self._listeners:
            listener.scenario_finished(outcome, material)

    def say(self, text: str) -> None:
        """Notify every listener."""
        for listener in self._listeners:
            listener.say(text)

    def run_finished(self, outcome: RunOutcome) -> None:
        """Notify every listener."""
        for listener in self._listeners:
            listener.run_finished(outcome)


Writers = Callable[[Listener], Listener]
"""Makes what writes the scenarios down; the listener given to it shows lines."""


def write_nothing(_shown: Listener) -> Listener:
    """Return what writes nothing."""
    return Listener()


class WindowListener:
    """Called when the measured window opens and closes, in the run's own thread.

    Does nothing by itself: what reads memory or CPU time overrides it.
    """

    def open(self) -> None:
        """Begin; the window starts when this returns."""

    def close(self) -> None:
        """End; the window has just stopped."""
