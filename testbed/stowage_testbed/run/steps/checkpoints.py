"""Noting a checkpoint: pods and nodes now, and figures of what led to it."""

from __future__ import annotations

from stowage_testbed.observe.audit import AuditLogMissingError, read_audit_entries, read_binding_times_ns
from stowage_testbed.observe.timeline import (
    PodTimeline,
    measure_bind_latencies_s,
    measure_binding_lags_s,
    read_pod_timelines,
)
from stowage_testbed.run.outcome import Latency, make_checkpoint, make_latency
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.run.steps.observed_moment import observe_state


def note_checkpoint(context: StepContext, name: str) -> None:
    """Add the checkpoint to those of the context."""
    recorder, namespace = context.recorder, context.namespace
    state = context.run.observer.read(lambda seen: observe_state(seen, context.scenario, namespace))
    changes = recorder.changes()
    since, context.noted_changes = context.noted_changes, len(changes)
    changes, window = changes[since:], context.window
    duration_s = recorder.durations_s.get(name, 0.0)
    # One that closed before the last checkpoint says nothing of this one.
    if window and window != context.noted_window:
        context.noted_window = window
        changes = [one for one in changes if window.holds(one.receipt)]
        duration_s = window.length_s
    context.checkpoints.append(
        make_checkpoint(
            name,
            state,
            _make_latency(context, read_pod_timelines(changes, namespace)),
            duration_s,
            is_planned=context.is_planned,
        )
    )


def _make_latency(context: StepContext, timelines: list[PodTimeline]) -> Latency:
    """Return the latencies, checked against the audit log if there is one."""
    try:
        entries = read_audit_entries(context.run.cluster.audit_log, context.recorder.audit_start)
        lags_s = measure_binding_lags_s(timelines, read_binding_times_ns(entries))
    except AuditLogMissingError:
        lags_s = []
    return make_latency(measure_bind_latencies_s(timelines), lags_s)
