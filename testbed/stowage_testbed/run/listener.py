"""Listeners to the progress of a run: progress bar, bundle, evidence, meters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stowage_testbed.observe.audit import BEGINNING, AuditMark
from stowage_testbed.observe.change import Change, JsonObject
from stowage_testbed.run.outcome import RunOutcome, ScenarioOutcome
from stowage_testbed.scenario.model import Scenario


@dataclass(frozen=True, slots=True)
class ScenarioRecords:
    """Raw records of one finished scenario, valid until the listener returns.

    `changes` are all that the watches saw while it ran, in order of receipt; `bodies` are pods and events of its
    namespace, all nodes and all plans as last seen, by kind. Logs go by profile and container, as in
    ``optimizer-scheduler``; Helm values and the scheduler's configuration go by profile. `audit_start` is where the
    scenario's part of the API server's log begins.
    """

    namespace: str
    changes: tuple[Change, ...]
    bodies: Mapping[str, list[JsonObject]]
    log_texts: Mapping[str, str]
    audit_log: Path
    audit_start: AuditMark = BEGINNING
    values: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    scheduler_config: Mapping[str, str] = field(default_factory=dict)


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

    def scenario_finished(self, outcome: ScenarioOutcome, records: ScenarioRecords) -> None:
        """Take the outcome and its records, right after `scenario_ended`."""
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
