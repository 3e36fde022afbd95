"""Records a scenario run while it lasts: times, changes, logs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from stowage_testbed.helm.release import Log
from stowage_testbed.observe.audit import find_audit_end
from stowage_testbed.observe.change import Change
from stowage_testbed.run.context import RunContext, Stopwatch
from stowage_testbed.run.listener import Listener, ScenarioRecords
from stowage_testbed.run.release import Serving


class RunRecorder:
    """Records one scenario run, and tells the listener of each step as it begins."""

    def __init__(self, context: RunContext, listener: Listener) -> None:
        self._context = context
        self._changes: list[Change] = []
        self._logs: dict[str, Log] = {}
        self._said_before: dict[str, str] = {}
        self._log_texts: dict[str, str] = {}
        self._values: dict[str, Mapping[str, object]] = {}
        self._configs: dict[str, str] = {}
        stopwatch = Stopwatch()
        self.report = listener.scenario_progress
        self.time_step = stopwatch.step
        self.durations_s = stopwatch.durations_s
        self.audit_start = find_audit_end(context.cluster.audit_log)
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
        return bool(self._values)

    def note_release(self, serving: Serving) -> None:
        """Note which release serves from now on."""
        profile = serving.wanted.profile
        self.follow_logs({f"{profile}-{container}": log for container, log in serving.release.logs().items()})
        if serving.kept:
            # What it said before is of other scenarios.
            self._said_before = {name: log.text() for name, log in self._logs.items()}
        self._values[profile] = serving.values
        self._configs[profile] = serving.scheduler_config

    def follow_logs(self, logs: Mapping[str, Log]) -> None:
        """Read these logs from now on, by name, in the place of those before."""
        self._logs, self._said_before = dict(logs), {}

    def log_texts(self) -> dict[str, str]:
        """Return the logs as they are now, by name."""
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

    def collect_records(self, namespace: str) -> ScenarioRecords:
        """Return the records of the run until now."""
        bodies = self._context.observer.read(
            lambda state: {
                **{kind: state.bodies(kind, namespace) for kind in ("Pod", "Event")},
                **{kind: state.bodies(kind) for kind in ("Node", "PackingPlan")},
            }
        )
        return ScenarioRecords(
            namespace=namespace,
            changes=tuple(self.changes()),
            bodies=bodies,
            log_texts=self.log_texts(),
            audit_log=self._context.cluster.audit_log,
            audit_start=self.audit_start,
            values=dict(self._values),
            scheduler_config=dict(self._configs),
        )
