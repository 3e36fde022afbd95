"""The record of the window that a scenario's steps measure."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial

from stowage_testbed.amounts.resources import Resources, names_of
from stowage_testbed.base.wait import WaitTimeoutError, wait_until
from stowage_testbed.invariants import History, check
from stowage_testbed.metrics.record import GangRecord, PodRecord, RunRecord, find_state_at_end
from stowage_testbed.metrics.state import NodeState
from stowage_testbed.observe.audit import (
    AuditEntry,
    AuditLogMissingError,
    AuditMark,
    AuditReader,
    read_audit_entries,
    read_binding_times_ns,
)
from stowage_testbed.observe.change import CLOCK_NAME, NS_PER_S, Change, JsonObject, Receipt, Verb, Window, name_of
from stowage_testbed.observe.device_book import DeviceBook
from stowage_testbed.observe.node import read_node
from stowage_testbed.observe.plan import ObservedPlan
from stowage_testbed.observe.pod import Pod, read_pod
from stowage_testbed.observe.pod_group import POD_GROUP, read_min_count
from stowage_testbed.observe.state import State
from stowage_testbed.observe.timeline import (
    ANSWER_CLOCK,
    ANSWER_STEP_S,
    PodTimeline,
    read_answers,
    read_pod_timelines,
    summarise_lags,
)
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.execution import Execution
from stowage_testbed.run.listener import RunRecorder
from stowage_testbed.scenario.check import CheckResult
from stowage_testbed.scenario.steps.checking import sum_up_plans

ARM = "release"
"""What stands for the scheduler's arm in the record of a run without comparison."""

ENDED_WELL = frozenset({"Completed", "NoImprovement"})
"""Phases after which the cluster is as the plan says."""

DIGITS = 6
"""Moments are kept to the microsecond, which is finer than any clock here."""

TIMESTAMP_S = 1.0
"""Timestamps of objects have whole seconds."""


def make_window_record(context: Execution) -> RunRecord | None:
    """Return what was measured in the window, if there was one; moves and evictions are those of the whole run."""
    window, recorder, run = context.window, context.recorder, context.run
    if window is None:
        return None
    ours = set(context.scenario.node_names)

    def look(state: State) -> tuple[list[JsonObject], Sequence[ObservedPlan]]:
        return [one for one in state.bodies("Node") if name_of(one) in ours], state.plans()

    nodes, plans = run.observer.read(look)
    changes = [*recorder.there_before, *recorder.changes()]
    devices = DeviceBook.of_all(changes)
    record = make_record(
        context.scenario.scenario_id,
        context.namespace,
        window,
        nodes=make_node_records(nodes, devices),
        changes=changes,
        devices=devices,
        audit=read_audit(run, recorder.audit_start, changes, context.namespace),
        pod_counts=count_pods(run, context.namespace),
    )
    of_plans = sum_up_plans(plans)
    return replace(
        record,
        moves=of_plans.moves,
        evictions=of_plans.evictions,
        bound_placed=find_proved_bound(record, plans, window.start),
        recovery=context.recovery,
    )


def make_record(
    scenario_id: str,
    namespace: str,
    window: Window,
    *,
    nodes: Iterable[NodeState],
    changes: Sequence[Change],
    devices: DeviceBook,
    audit: Sequence[AuditEntry],
    pod_counts: tuple[int, int] | None = None,
) -> RunRecord:
    """Return the record of a window in which no plan was made, by itself the first round with its own client limits.

    ``changes`` are in order of receipt; the first are what was there when the window began, and ``devices`` is made of
    them. ``audit`` is of the window,
    and of what was on its way when it began or ended. ``pod_counts`` are how many pods the API server and the watch had
    when it was over; ``None`` where they were not counted.

    Its clock is the API server's if the audit log has every creation and binding, else that of the watch. Pods or
    bindings that the watch missed make the record incomplete, which is its ``error``. Clocks that disagree, and
    bindings that the audit log lacks, are counted and no error.
    """
    timelines = read_pod_timelines(changes, namespace)
    bindings_ns = read_binding_times_ns(audit)
    answered = read_answers(timelines, audit)
    clocks = summarise_lags(answered.lags_s)
    whole = bool(answered.lags_s) and not answered.missing
    unlogged = [line for line in timelines if line.bound and line.key not in bindings_ns]
    best = answered.timelines if whole else timelines
    nodes, losses = tuple(nodes), list[str]()
    requests_of = partial(devices.requests_of, listed=names_of(one.resources for one in nodes))
    there, watched = pod_counts or (0, 0)
    if there != watched:
        losses.append(f"the API server has {there} pods, of which the watch shows {watched}")
    listed = (one.receipt for one in changes if one.kind == "Pod" and one.verb is Verb.LISTED)
    if any(window.start < receipt <= window.stop for receipt in listed):
        losses.append("the watch of pods broke off in the window and began with a new list")
    known = {line.key for line in timelines if line.node}
    missed = [key for key in bindings_ns if key.startswith(f"{namespace}/") and key not in known]
    if missed:
        losses.append(
            f"{len(missed)} bindings of the audit log were not seen by the watch, the first that of {missed[0]}"
        )
    return RunRecord(
        scenario_id=scenario_id,
        arm=ARM,
        limits="own",
        round_number=1,
        nodes=nodes,
        pods=tuple(_make_pod_records(window, changes, requests_of, best, timelines)),
        window_s=round(window.length_s, DIGITS),
        clock=ANSWER_CLOCK if whole else CLOCK_NAME,
        resolution_s=ANSWER_STEP_S if whole else round(clocks.resolution_s, DIGITS),
        watch_resolution_s=round(clocks.resolution_s, DIGITS),
        answers_late_s=round(answered.late_s, DIGITS) if whole else None,
        audit_lag_s=(None if clocks.median_lag_s is None else round(clocks.median_lag_s, DIGITS)),
        audit_beyond=clocks.beyond,
        audit_missing=len(unlogged) if audit else 0,
        api_pods=pod_counts[0] if pod_counts else None,
        error="; ".join(losses),
        gangs=_list_gangs(changes, namespace),
    )


def _list_gangs(changes: Iterable[Change], namespace: str) -> tuple[GangRecord, ...]:
    """Return the groups of a namespace that are gangs, as they were last seen."""
    bodies = {one.name: one.body for one in changes if one.kind == POD_GROUP and one.namespace == namespace}
    counts = {name: read_min_count(bodies[name]) for name in sorted(bodies)}
    return tuple(GangRecord(name, count) for name, count in counts.items() if count)


def make_node_records(bodies: Iterable[JsonObject], devices: DeviceBook) -> tuple[NodeState, ...]:
    """Return the nodes with what they can give, by name."""
    records = (NodeState(name_of(one), read_node(one).room + devices.room(name_of(one))) for one in bodies)
    return tuple(sorted(records, key=lambda record: record.name))


def _make_pod_records(
    window: Window,
    changes: Sequence[Change],
    requests_of: Callable[[Pod], Resources],
    timelines: Iterable[PodTimeline],
    watched: Iterable[PodTimeline],
) -> Iterator[PodRecord]:
    bodies = {change.uid: change.body for change in changes if change.kind == "Pod"}
    for line, receipts in zip(timelines, watched, strict=True):
        if (line.created and line.created > window.stop) or (line.gone and line.gone <= window.start):
            continue
        pod = read_pod(bodies[line.uid])
        bound_later = line.bound is not None and line.bound > window.stop
        watched_s = receipts.created_to_bound_s
        yield PodRecord(
            uid=line.uid,
            name=line.name,
            workload=pod.workload,
            priority=pod.priority,
            requests=requests_of(pod),
            node="" if bound_later else line.node,
            created_s=_place_in_window(window, line.created),
            bound_s=_place_in_window(window, line.bound),
            ready_s=_place_in_window(window, line.ready),
            gone_s=_place_in_window(window, line.gone),
            watch_t_sched_s=None if watched_s is None else round(watched_s, DIGITS),
            group=pod.group,
            disrupted_s=_place_in_window(window, line.disrupted),
            succeeded=pod.phase == "Succeeded" and line.gone is not None and line.gone <= window.stop,
        )


def _place_in_window(window: Window, at: Receipt | None) -> float | None:
    """Return a moment of the window; what was before or after was not seen in it."""
    if at is None or not window.start < at <= window.stop:
        return None
    return round(at.seconds_since(window.start), DIGITS)


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
