"""The figures of a settled phase, from the state and the changes that led to it."""

from __future__ import annotations

from collections.abc import Sequence

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
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.latency import latency_of
from stowage_testbed.run.outcome import PhaseOutcome
from stowage_testbed.scenario.check import CheckResult


def measured(
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
