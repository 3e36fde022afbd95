"""The record of the window that a scenario's steps measure."""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from stowage_testbed.base.wait import WaitTimeoutError, wait_until
from stowage_testbed.invariants import History, check
from stowage_testbed.metrics.record import RunRecord, find_state_at_end
from stowage_testbed.observe.audit import (
    AuditEntry,
    AuditLogMissingError,
    AuditMark,
    AuditReader,
    read_audit_entries,
    read_binding_times_ns,
)
from stowage_testbed.observe.change import NS_PER_S, Change, Receipt
from stowage_testbed.observe.plan import ObservedPlan
from stowage_testbed.observe.timeline import read_pod_timelines
from stowage_testbed.recording.run_record import Observations, make_node_records, make_record
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.execution import Execution
from stowage_testbed.run.recorder import RunRecorder
from stowage_testbed.scenario.check import CheckResult
from stowage_testbed.scenario.steps.checking import sum_up_plans

ARM = "release"
"""What stands for the scheduler's arm in the record of a run without comparison."""

ENDED_WELL = frozenset({"Completed", "NoImprovement"})
"""Phases after which the cluster is as the plan says."""

TIMESTAMP_S = 1.0
"""Timestamps of objects have whole seconds."""


def make_window_record(context: Execution) -> RunRecord | None:
    """Return what was measured in the window, if there was one; moves and evictions are those of the whole run."""
    window, recorder, run = context.window, context.recorder, context.run
    if window is None:
        return None
    ours = set(context.scenario.node_names)
    bodies, plans = run.observer.read(lambda state: (state.bodies("Node"), state.plans()))
    changes = [*recorder.there_before, *recorder.changes()]
    seen = Observations(
        namespace=context.namespace,
        window=window,
        nodes=make_node_records(b for b in bodies if b["metadata"]["name"] in ours),
        changes=changes,
        audit=read_audit(run, recorder.audit_start, changes, context.namespace),
        pod_counts=count_pods(run, context.namespace),
    )
    record, of_plans = make_record(context.scenario.scenario_id, ARM, seen), sum_up_plans(plans)
    return replace(
        record,
        moves=of_plans.moves,
        evictions=of_plans.evictions,
        bound_placed=find_proved_bound(record, plans, window.start),
        recovery=context.recovery,
    )


def find_proved_bound(record: RunRecord, plans: Sequence[ObservedPlan], start: Receipt) -> int | None:
    """Return the most pods that could have been placed, as the last plan proves it.

    A plan counts the pods of the whole cluster, so that only what it leaves out of its bound is taken from it. ``None``
    is returned where it proves nothing of the state at the end: it was not carried out, or a pod that waits came later.
    """
    if not plans or not plans[-1].tiers or plans[-1].phase not in ENDED_WELL:
        return None
    made_s = datetime.fromisoformat(plans[-1].created).timestamp() + TIMESTAMP_S
    began_s = start.wall_ns / NS_PER_S
    if any(
        not pod.node and pod.gone_s is None and pod.created_s is not None and began_s + pod.created_s > made_s
        for pod in record.pods
    ):
        return None
    lowest = min(plans[-1].tiers, key=lambda tier: tier.priority)
    return len(find_state_at_end(record).bound) + lowest.upper_bound - lowest.placed


def count_pods(context: RunContext, namespace: str) -> tuple[int, int]:
    """Return how many pods the API server and the watch have, as soon as they are equal or as they stay."""

    def look() -> tuple[int, int]:
        watched = context.observer.read(lambda state: len(state.all_pods(namespace)))
        return context.objects.count("Pod", namespace), watched

    try:
        what = "the watch to show every pod of the API server"
        return wait_until(what, look, lambda counts: counts[0] == counts[1])
    except WaitTimeoutError as error:
        last: tuple[int, int] = error.last_state
        return last


def read_audit(context: RunContext, start: AuditMark, changes: Iterable[Change], namespace: str) -> list[AuditEntry]:
    """Return a window's entries; bindings that the log lacks at the deadline are counted by the window's record."""
    missing = {line.key for line in read_pod_timelines(changes, namespace) if line.bound}
    log, entries = AuditReader(context.cluster.audit_log, start), list[AuditEntry]()

    def look() -> int:
        try:
            new = list(log.entries())
        except AuditLogMissingError:
            missing.clear()
            return 0
        entries.extend(new)
        missing.difference_update(read_binding_times_ns(new))
        return len(missing)

    with suppress(WaitTimeoutError):
        wait_until("the audit log to have every binding", look, lambda left: not left or not entries)
    return entries


def check_invariants(
    context: RunContext, recorder: RunRecorder, allowed: Collection[str] = ()
) -> tuple[CheckResult, ...]:
    """Check a run that has come to rest; every violation of a rule that is not allowed is a failed check."""
    entries = read_audit_entries(context.cluster.audit_log, recorder.audit_start)
    # What was there comes first: a change that was on its way then was stamped earlier.
    changes = sorted(recorder.changes(), key=lambda change: change.receipt)
    violations = check(History((*recorder.there_before, *changes), tuple(entries)))
    found = (one for one in violations if one.rule not in allowed)
    broken = tuple(CheckResult("invariants", False, "kept", one.rule, one.in_words()) for one in found)
    return broken or (CheckResult("invariants", True, "kept", "kept"),)
