"""The steps of a scenario, one after the other, with any scheduler, and what surrounds them."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import yaml

from stowage_testbed.api.client import ApiRefusedError, Manifest
from stowage_testbed.api.kinds import KindMissingError
from stowage_testbed.api.objects import list_dropped
from stowage_testbed.api.pod_templates import PodOverrides, apply_overrides
from stowage_testbed.base.errors import StowageError
from stowage_testbed.helm import Release as ReleaseOnCluster
from stowage_testbed.helm.release import merge_values
from stowage_testbed.observe.audit import AuditLogMissingError, read_audit_entries
from stowage_testbed.observe.change import JsonObject, Window, drop_bookkeeping, name_of, write_event_table
from stowage_testbed.observe.source import BUDGETS, PACKING_PLANS, REPLICA_SETS, RESERVATIONS, STATEFUL_SETS, source_of
from stowage_testbed.observe.timeline import measure_binding_lags_s, read_pod_timelines
from stowage_testbed.run.context import RunContext, catch_problem
from stowage_testbed.run.listener import RunRecorder
from stowage_testbed.run.outcome import CheckpointResult, StepRecord, make_checkpoint, make_latency
from stowage_testbed.run.release import Wanted, make_optimizer_values, switch_release
from stowage_testbed.scenario.manifests import make_controllers
from stowage_testbed.scenario.model import CatchItem, Scenario
from stowage_testbed.scenario.steps.action import Step, join_names
from stowage_testbed.scenario.steps.checking import FAILED, Checkpoint, observe_state
from stowage_testbed.scenario.steps.context import StepContext, WindowListener, naming_place
from stowage_testbed.scenario.steps.releasing import Release

MALFORMED = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})
"""What the server says of an object that it would refuse whatever else there is."""


WATCHED = (PACKING_PLANS, RESERVATIONS, BUDGETS, REPLICA_SETS, STATEFUL_SETS)
"""What the invariants look at beside pods and nodes."""


class Harness:
    """Has the chart's release serve as the steps say; others override what differs.

    Every pod that the steps create gets the ``pod_overrides``; the ``window_listener`` is called when the measured
    window opens and closes. If ``is_supervised``, a container of the release that ends is an error that ends the run.
    If ``is_released``, the steps choose the release that serves; otherwise something serves already, `release` changes
    nothing, and `pack` waits until the pods are at rest. If ``is_judged``, the invariants, and what a scenario expects
    of its metrics, are checked at the end.
    """

    pod_overrides: PodOverrides | None = None
    window_listener = WindowListener()
    is_supervised = True
    is_released = True
    is_judged = True
    serving_release: ReleaseOnCluster | None = None

    def before(self, context: StepContext, step: Step) -> None:
        """Do what comes before a step; what goes wrong is the step's error."""

    def after(self, context: StepContext, step: Step) -> None:
        """Do what comes after a step that was carried out, likewise."""

    @contextmanager
    def serving(self, namespace: str, recorder: RunRecorder) -> Iterator[None]:
        """Serve for the block; the namespace and the nodes are there.

        What goes wrong with the scheduler is raised, at the latest at the block's end.
        """
        del namespace, recorder
        yield

    def find_scheduler_pids(self) -> tuple[int, ...]:
        """Return the processes of what places the pods; a StowageError if none is known on this machine."""
        pid = self.serving_release.process_ids().get("scheduler") if self.serving_release else None
        if pid is None:
            raise StowageError("no scheduler of a release runs here; have a step `release` before")
        return (pid,)

    def release(self, context: RunContext, scenario: Scenario, release: Release, recorder: RunRecorder) -> None:
        """Install a release, or bring it to its settings, and watch what it brings."""
        of_optimizer = make_optimizer_values(scenario.optimizer) if release.optimizer else {}
        # What is measured is of a scheduler that has done nothing else, and steps that
        # change the release have it start anew.
        may_keep = release.can_be_kept and not (scenario.is_measured or recorder.has_release)
        # The logs of the release before go with its pod.
        recorder.read_logs()
        own = {**of_optimizer, **scenario.features.values(context.cluster.minor)}
        wanted = Wanted(release.profile, release.optimizer, merge_values(own, release.values))
        serving = switch_release(context, wanted, may_keep=may_keep)
        if serving.kept:
            wanted.await_nodes(serving.release, [name_of(one) for one in scenario.first_nodes])
        self.serving_release = serving.release
        recorder.note_release(serving)
        for source in WATCHED:
            context.observer.watch(source)


class Execution(StepContext):
    """Carries the steps of a scenario out, and has their results: start with `carry_all_out`.

    `records` has what came of each step that was begun. `evidence` is what the scenario's `catch` names, by file, once
    something has failed. `refused` says whether an object or a workload is none of this cluster's.
    """

    def __init__(self, run: RunContext, scenario: Scenario, recorder: RunRecorder, harness: Harness) -> None:
        super().__init__(run.cluster, run.api, run.observer, scenario, recorder.namespace)
        self.run, self.recorder, self.harness = run, recorder, harness
        self.is_released, self.pod_overrides = harness.is_released, harness.pod_overrides
        self.window_listener = harness.window_listener
        self.records: list[StepRecord] = []
        self.checkpoints: list[CheckpointResult] = []
        self.evidence: dict[str, str] = {}
        self.refused = False
        self._untried = list(scenario.objects.values())
        self._noted_changes = 0
        self._noted_window: Window | None = None

    @property
    def window(self) -> Window | None:
        """What was measured; ``None`` while it has no end."""
        if self.started is None or self.stopped is None:
            return None
        return Window(self.started, self.stopped)

    def carry_all_out(self) -> str:
        """Carry the steps out; return why they ended early, if they did.

        A step that fails ends them, and nothing is raised for it. What they produced, also evidence, is kept.
        """
        error = catch_problem(self._try_objects) or catch_problem(self._try_workloads)
        for step, counts_for in zip(self.scenario.steps, _name_next_checkpoints(self.scenario.steps), strict=True):
            if not error:
                error = self._record(step, counts_for)
                # Before the next step changes what explains the failure.
                self._collect_evidence(error)
        self._collect_evidence(error)
        if error:
            # Without an API server there is nothing to note.
            catch_problem(lambda: self.note_checkpoint(FAILED))
        return error

    def carry_out(self, step: Step) -> None:
        """Carry one step out, with what surrounds it."""
        self.step = step
        self.harness.before(self, step)
        step.action.carry_out(self)
        step.action.ask(self.demand)
        self.harness.after(self, step)

    def _record(self, step: Step, counts_for: str) -> str:
        """Carry a step out and record it; return why it failed, if it did."""
        clock = self.observer.clock
        began, self.facts = clock.now(), {}
        self.report(step.in_words())
        with self.recorder.time_step(counts_for):
            error = catch_problem(lambda: self.carry_out(step))
        if error:
            file = self.scenario.path
            where = f"{step}" if file is None or not step.line else f"{step} of {file}"
            error = f"{where} failed: {error}"
        lasted_s, words = clock.now().seconds_since(began), step.action.in_words()
        self.records.append(StepRecord(step.number, step.kind, step.line, words, lasted_s, dict(self.facts), error))
        return error

    def report(self, text: str) -> None:
        """Tell the listener."""
        self.recorder.report(text)

    def release(self, release: Release) -> None:
        """Have the release serve, unless another scheduler does."""
        if self.is_released:
            self.harness.release(self.run, self.scenario, release, self.recorder)
        self._try_objects()

    def find_scheduler_pids(self) -> tuple[int, ...]:
        """Return the processes of what serves."""
        return self.harness.find_scheduler_pids()

    @property
    def release_namespace(self) -> str:
        """Where the harness' release is."""
        return self.harness.serving_release.namespace if self.harness.serving_release else ""

    def note_checkpoint(self, name: str) -> None:
        """Note pods and nodes now, and figures of what led to them; latencies are checked against the audit log."""
        recorder = self.recorder
        state = self.observer.read(lambda seen: observe_state(seen, self.scenario, self.namespace))
        changes = recorder.changes()
        since, self._noted_changes = self._noted_changes, len(changes)
        changes, window = changes[since:], self.window
        duration_s = recorder.durations_s.get(name, 0.0)
        # One that closed before the last checkpoint says nothing of this one.
        if window and window != self._noted_window:
            self._noted_window = window
            changes = [one for one in changes if window.holds(one.receipt)]
            duration_s = window.length_s
        timelines = read_pod_timelines(changes, self.namespace)
        try:
            entries = read_audit_entries(self.cluster.audit_log, recorder.audit_start)
            lags_s = measure_binding_lags_s(timelines, entries)
        except AuditLogMissingError:
            lags_s = []
        seen_s = [seconds for line in timelines if (seconds := line.created_to_bound_s) is not None]
        latency = make_latency(seen_s, lags_s)
        self.states[name] = state
        self.checkpoints.append(make_checkpoint(name, state, latency, duration_s, is_planned=self.is_planned))

    def _try_objects(self) -> None:
        """Watch the objects' kinds, and have the server look at all that is written.

        Each is looked at once, when its kind is served: that of some comes with the release, or is defined by another
        object.
        """
        untried, self._untried = self._untried, []
        for item in untried:
            try:
                kind = self.objects.kinds.of(item.manifest)
            except KindMissingError:
                self._untried.append(item)
                continue
            self.observer.watch(source_of(kind))
            with naming_place(item.place):
                self._try(item.in_namespace(kind, self.namespace))

    def _try_workloads(self) -> None:
        """Have the server look at each workload; as `_try_objects` raises."""
        for workload in self.scenario.workload:
            # Its controllers are equal.
            for manifest in make_controllers(workload, self.namespace)[:1]:
                with naming_place(f"workload {workload.name}"):
                    self._try(manifest)

    def _try(self, manifest: Manifest) -> None:
        """Have the server look at an object; raises where it would refuse it whatever else there is."""
        asked = apply_overrides(manifest, self.pod_overrides)
        try:
            made = self.objects.create(asked, strict=True, dry_run=True)
        except ApiRefusedError as error:
            # What else is refused now may be allowed when other objects are there.
            if error.status in MALFORMED:
                self.refused = True
                raise
            return
        dropped = list(list_dropped(asked.get("spec"), made.get("spec"), "spec"))
        if dropped:
            self.refused = True
            raise StowageError(
                f"the API server would drop {join_names(dropped)}: the feature gate of "
                "that is off in this cluster; remove it"
            )

    def _collect_evidence(self, error: str) -> None:
        """Collect what the scenario's `catch` names, once, if something has failed; what cannot be had says why."""
        failed = error or not all(one.passed for one in self.checks)
        if not failed or self.evidence:
            return
        for item in self.scenario.catch:
            try:
                self.evidence.update(self._collect(item))
            except StowageError as problem:
                self.evidence[f"{item.what}-{item.of or 'all'}.txt"] = f"{problem}\n"

    def _collect(self, item: CatchItem) -> Iterator[tuple[str, str]]:
        events = self.observer.read(lambda state: state.bodies("Event", self.namespace))
        match item.what:
            case "events":
                yield "events.txt", write_event_table(events)
            case "logs":
                for name, text in self.recorder.log_texts().items():
                    yield f"{name}.log", text
            case "objects":
                # A kind without namespaces passes over this one.
                yield f"objects-{item.of}.yaml", _dump(self.objects.each(item.of, self.namespace))
            case "describe":
                # The object and the events about it, or about pods of that workload.
                name = item.of
                about = self.scenario.objects.get(name) or self.workloads.get(name)
                kind = about.kind if about else "PackingPlan"
                bodies = [one for one in self.objects.each(kind, self.namespace) if name_of(one) == name]
                names = {name, *(pod.name for pod in self.pods_of(name))}
                told = [event for event in events if event["involvedObject"].get("name") in names]
                there = _dump(bodies) if bodies else f"there is no {kind} {name}\n"
                yield f"describe-{name}.txt", f"{there}\n{write_event_table(told)}"


def _name_next_checkpoints(steps: Sequence[Step]) -> list[str]:
    """Return, for each step, what its time counts for."""
    names, name = [], "steps"
    for action in (step.action for step in reversed(steps)):
        name = action.name if isinstance(action, Checkpoint) else name
        names.append(f"release {action.profile}" if isinstance(action, Release) else name)
    return names[::-1]


def _dump(bodies: Iterable[JsonObject]) -> str:
    plain: list[Any] = [drop_bookkeeping(dict(body)) for body in bodies]
    return yaml.safe_dump_all(plain, sort_keys=False)
