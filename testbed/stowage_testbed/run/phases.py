"""What runs under one release: a half of a scenario, or all steps of one with steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stowage_testbed.helm.values import merge_values
from stowage_testbed.metrics.catalogue import metrics_of
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.packing import placement_hash, utilisation
from stowage_testbed.metrics.state import ClusterState
from stowage_testbed.observe.agreement import binding_lags_s
from stowage_testbed.observe.audit import (
    AuditLogMissingError,
    AuditMark,
    audit_entries,
    binding_times_ns,
)
from stowage_testbed.observe.change import Change
from stowage_testbed.observe.timeline import (
    PodTimeline,
    bind_latencies_s,
    pod_timelines,
)
from stowage_testbed.recording.run_record import RunLabel
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.environment import ScenarioEnvironment
from stowage_testbed.run.invariant_checks import WATCHED, invariant_checks
from stowage_testbed.run.latency import latency_of
from stowage_testbed.run.outcome import PhaseOutcome
from stowage_testbed.run.recorder import RunRecorder
from stowage_testbed.run.release import optimizer_values, switch_release
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.run.steps.execution import carry_out, run_steps
from stowage_testbed.run.steps.observed_moment import observed_state, optimizer_record
from stowage_testbed.run.steps.outcome import SteppedOutcome
from stowage_testbed.run.window_record import window_record
from stowage_testbed.scenario.check import (
    CheckResult,
    Moment,
    check_expressions,
    check_metrics,
    check_moment,
)
from stowage_testbed.scenario.model import Half, Scenario, SchedulerSettings

ARM = "release"
"""What stands for the scheduler's arm in the record of a run without comparison."""


def run_half(
    context: RunContext,
    scenario: Scenario,
    half: Half,
    environment: ScenarioEnvironment,
    recorder: RunRecorder,
    *,
    before: PhaseOutcome | None,
) -> PhaseOutcome:
    """Carry the steps of a half out under its release, check and measure.

    ``before`` is the half that went before, if one did.
    """
    seen = len(recorder.changes())
    _release(context, scenario, half.scheduler, recorder)
    steps = StepContext(context, scenario, environment, report=recorder.report)
    with recorder.step(half.name):
        for step in half.steps:
            carry_out(steps, step)
    state, plans = context.observer.read(
        lambda now: (
            observed_state(now, scenario, environment.namespace),
            now.plans(),
        )
    )
    expect, moment = scenario.expect.deterministic, Moment(state)
    if before is not None:
        expect = scenario.expect.optimizer
        moment = Moment(state, optimizer_record(plans), before=before.state)
    checks = tuple(check_moment(expect, moment, scenario.expect.tolerance))
    if before is not None:
        checks += invariant_checks(context, recorder)
    return _measured(
        context,
        state,
        recorder.changes()[seen:],
        environment.namespace,
        recorder.audit_start,
        duration_s=recorder.durations_s[half.name],
        checks=checks,
    )


def run_stepped(
    context: RunContext,
    scenario: Scenario,
    environment: ScenarioEnvironment,
    recorder: RunRecorder,
) -> tuple[SteppedOutcome, PhaseOutcome, tuple[Metric, ...]]:
    """Install the release, carry the steps out, and measure.

    Bounds on metrics and the invariants are checked besides what the steps expect.
    """
    _release(context, scenario, scenario.scheduler, recorder)
    stepped = run_steps(context, scenario, environment, None, recorder)
    label = RunLabel(scenario.scenario_id, ARM)
    record = window_record(
        context, scenario, environment, stepped, recorder, label=label
    )
    window, metrics = stepped.window, metrics_of(record) if record else ()
    steps_s = recorder.durations_s.get("steps", 0.0)
    end = _measured(
        context,
        stepped.state,
        [
            one
            for one in recorder.changes()
            if window is None or window.holds(one.receipt)
        ],
        environment.namespace,
        recorder.audit_start,
        duration_s=window.length_s if window else steps_s,
        checks=(
            *stepped.checks,
            *_metric_checks(scenario, stepped, metrics),
            *_last_checks(scenario, stepped, metrics),
            *invariant_checks(context, recorder),
        ),
    )
    return stepped, end, metrics


def _measured(
    context: RunContext,
    state: ClusterState,
    changes: Sequence[Change],
    namespace: str,
    audit_start: AuditMark,
    *,
    duration_s: float,
    checks: tuple[CheckResult, ...],
) -> PhaseOutcome:
    """Return the outcome of a phase, its latencies checked against the audit log."""
    timelines = pod_timelines(changes, namespace)
    return PhaseOutcome(
        state=state,
        utilisation=utilisation(state),
        placement_hash=placement_hash(state),
        latency=latency_of(
            bind_latencies_s(timelines), _audit_lags_s(context, timelines, audit_start)
        ),
        duration_s=duration_s,
        checks=checks,
    )


def _audit_lags_s(
    context: RunContext, timelines: Sequence[PodTimeline], audit_start: AuditMark
) -> list[float]:
    try:
        entries = audit_entries(context.cluster.audit_log, audit_start)
        return binding_lags_s(timelines, binding_times_ns(entries))
    except AuditLogMissingError:
        return []


def _metric_checks(
    scenario: Scenario, stepped: SteppedOutcome, metrics: Sequence[Metric]
) -> Iterator[CheckResult]:
    """Check the bounds on metrics, unless the step that failed says it all."""
    return check_metrics(
        {} if stepped.error else scenario.expect.metrics,
        {metric.name: metric.value for metric in metrics},
        {metric.name: metric.note for metric in metrics},
    )


def _last_checks(
    scenario: Scenario, stepped: SteppedOutcome, metrics: Sequence[Metric]
) -> Iterator[CheckResult]:
    """Check the expressions about the end and the metrics, likewise."""
    values = {
        **stepped.values,
        "metrics": {metric.name: metric.value for metric in metrics},
    }
    return check_expressions(() if stepped.error else scenario.expect.that, values)


def _release(
    context: RunContext,
    scenario: Scenario,
    settings: SchedulerSettings,
    recorder: RunRecorder,
) -> None:
    """Install a release, or bring it to these settings, and watch what it brings."""
    of_optimizer = optimizer_values(scenario.optimizer) if settings.optimizer else {}
    with recorder.step(f"release {settings.profile}"):
        # The logs of the release before go with its pod.
        recorder.read_logs()
        serving = switch_release(
            context,
            settings.profile,
            optimizer_enabled=settings.optimizer,
            values=merge_values(of_optimizer, settings.values),
        )
        recorder.released(serving)
        for source in WATCHED:
            context.observer.watch(source)
