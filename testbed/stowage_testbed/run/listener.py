"""What a run tells and records while it lasts: listeners are the progress bar, the bundle, meters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from stowage_testbed.helm.release import Log
from stowage_testbed.observe.audit import find_audit_end
from stowage_testbed.observe.change import Change, JsonObject
from stowage_testbed.run.context import RunContext, Stopwatch
from stowage_testbed.run.outcome import RunOutcome, ScenarioOutcome
from stowage_testbed.run.release import Serving
from stowage_testbed.scenario.model import Scenario


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


class RunRecorder:
    """Records one scenario run, and tells the listener of each step as it begins.

    The scenario's part of the API server's `audit_log` begins at `audit_start`; `there_before` are the objects that
    were there then. Helm `values` and `scheduler_configs` go by profile.
    """

    def __init__(self, context: RunContext, namespace: str, listener: Listener) -> None:
        self._context = context
        self.namespace = namespace
        self._changes: list[Change] = []
        self._logs: dict[str, Log] = {}
        self._said_before: dict[str, str] = {}
        self._log_texts: dict[str, str] = {}
        self.values: dict[str, Mapping[str, object]] = {}
        self.scheduler_configs: dict[str, str] = {}
        stopwatch = Stopwatch()
        self.report = listener.scenario_progress
        self.time_step = stopwatch.step
        self.durations_s = stopwatch.durations_s
        self.audit_log = context.cluster.audit_log
        self.audit_start = find_audit_end(self.audit_log)
        self.there_before = context.observer.restart_journal()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Report a step and time it, also one that fails."""
        self.report(name)
        with self.time_step(name):
            yield

    @property
    def has_release(self) -> bool:
        """Whether a release has been noted."""
        return bool(self.values)

    def note_release(self, serving: Serving) -> None:
        """Note which release serves from now on."""
        profile = serving.wanted.profile
        self.follow_logs({f"{profile}-{container}": log for container, log in serving.release.logs().items()})
        if serving.kept:
            # What it said before is of other scenarios.
            self._said_before = {name: log.text() for name, log in self._logs.items()}
        self.values[profile] = serving.values
        self.scheduler_configs[profile] = serving.scheduler_config

    def follow_logs(self, logs: Mapping[str, Log]) -> None:
        """Read these logs from now on, by name, in the place of those before."""
        self._logs, self._said_before = dict(logs), {}

    def log_texts(self) -> dict[str, str]:
        """Return the logs as they are now, by profile and container, as in ``optimizer-scheduler``."""
        self.read_logs()
        return dict(self._log_texts)

    def read_logs(self) -> None:
        """Read the logs of the release that serves, before its pod and they go."""
        for name, log in self._logs.items():
            if text := log.text().removeprefix(self._said_before.get(name, "")):
                self._log_texts[name] = text

    def changes(self) -> list[Change]:
        """Return every change since the scenario began, in order of receipt."""
        self._changes += self._context.observer.take_journal()
        return self._changes

    def bodies(self, kind: str) -> list[JsonObject]:
        """Return the objects of a kind as last seen; pods and events are those of the scenario's namespace."""
        namespace = self.namespace if kind in {"Pod", "Event"} else None
        return self._context.observer.read(lambda state: state.bodies(kind, namespace))
