"""From what was watched in a window to the record that every metric is made from."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from stowage_testbed.metrics.record import PodRecord, RunRecord
from stowage_testbed.metrics.state import NodeState
from stowage_testbed.observe.audit import AuditEntry, read_binding_times_ns
from stowage_testbed.observe.change import CLOCK_NAME, Change, JsonObject, Receipt, Verb, Window
from stowage_testbed.observe.node import read_node
from stowage_testbed.observe.pod import read_pod
from stowage_testbed.observe.timeline import (
    ANSWER_CLOCK,
    ANSWER_STEP_S,
    PodTimeline,
    read_answers,
    read_pod_timelines,
    summarise_lags,
)

PROC = Path("/proc")
RESET_PEAK = "5"
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)
KIB = 1024


@dataclass(frozen=True, slots=True)
class Footprint:
    """What processes took together; ``None`` where it could not be read.

    Peaks of resident memory are added up, although they need not have been at one time; the time is that of ended
    children too.
    """

    peak_memory_bytes: int | None = None
    cpu_s: float | None = None


UNKNOWN = Footprint()


class FootprintMeter:
    """Measures processes and their children from now on; one that ends before `read` makes the footprint unknown."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._pids = tuple(pids)
        for process in _find_family(self._pids):
            # Another system than Linux: what cannot be forgotten cannot be read either.
            with suppress(OSError):
                (PROC / str(process.pid) / "clear_refs").write_text(RESET_PEAK, encoding="ascii")
        self._cpu_before_s = _read_cpu_s(self._pids)

    def read(self) -> Footprint:
        """Return what was taken since the meter was made."""
        cpu_s, peaks = _read_cpu_s(self._pids), dict[int, int]()
        for process in _find_family(self._pids):
            with suppress(OSError):
                if found := _PEAK.search((PROC / str(process.pid) / "status").read_text(encoding="ascii")):
                    peaks[process.pid] = int(found[1]) * KIB
        peak = sum(peaks.values()) if self._pids and peaks.keys() >= set(self._pids) else None
        if cpu_s is None or self._cpu_before_s is None:
            return Footprint(peak, None)
        return Footprint(peak, round(cpu_s - self._cpu_before_s, 2))


def _find_family(pids: Iterable[int]) -> Iterator[psutil.Process]:
    for pid in pids:
        try:
            process = psutil.Process(pid)
            yield process
            yield from process.children(recursive=True)
        except psutil.Error:
            continue


def _read_cpu_s(pids: tuple[int, ...]) -> float | None:
    if not pids or not all(psutil.pid_exists(pid) for pid in pids):
        return None
    total_s = 0.0
    for process in _find_family(pids):
        try:
            times = process.cpu_times()
        except psutil.Error:
            # A child that has just ended; its parent has its time from now on.
            continue
        total_s += times.user + times.system
        total_s += getattr(times, "children_user", 0.0)
        total_s += getattr(times, "children_system", 0.0)
    return total_s


DIGITS = 6
"""Moments are kept to the microsecond, which is finer than any clock here."""


@dataclass(frozen=True, slots=True)
class Observations:
    """All that was seen of one window, of the pods of a namespace.

    ``changes`` are in order of receipt; the first are what was there when the window began. ``audit`` is of the window,
    and of what was on its way when it began or ended. ``pod_counts`` are how many pods the API server and the watch had
    when it was over; ``None`` where they were not counted.
    """

    namespace: str
    window: Window
    nodes: Sequence[NodeState]
    changes: Sequence[Change]
    audit: Sequence[AuditEntry]
    pod_counts: tuple[int, int] | None = None


def make_record(scenario_id: str, arm: str, seen: Observations) -> RunRecord:
    """Return the record of a window in which no plan was made, by itself the first round with its own client limits.

    Its clock is the API server's if the audit log has every creation and binding, else that of the watch. Pods or
    bindings that the watch missed make the record incomplete, which is its ``error``. Clocks that disagree, and
    bindings that the audit log lacks, are counted and no error.
    """
    timelines = read_pod_timelines(seen.changes, seen.namespace)
    bindings_ns = read_binding_times_ns(seen.audit)
    answered = read_answers(timelines, seen.audit)
    clocks = summarise_lags(answered.lags_s)
    whole = bool(answered.lags_s) and not answered.missing
    unlogged = [line for line in timelines if line.bound and line.key not in bindings_ns]
    best = answered.timelines if whole else timelines
    return RunRecord(
        scenario_id=scenario_id,
        arm=arm,
        limits="own",
        round_number=1,
        nodes=tuple(seen.nodes),
        pods=tuple(_make_pod_records(seen, best, timelines)),
        window_s=round(seen.window.length_s, DIGITS),
        clock=ANSWER_CLOCK if whole else CLOCK_NAME,
        resolution_s=ANSWER_STEP_S if whole else round(clocks.resolution_s, DIGITS),
        watch_resolution_s=round(clocks.resolution_s, DIGITS),
        answers_late_s=round(answered.late_s, DIGITS) if whole else None,
        audit_lag_s=(None if clocks.median_lag_s is None else round(clocks.median_lag_s, DIGITS)),
        audit_beyond=clocks.beyond,
        audit_missing=len(unlogged) if seen.audit else 0,
        api_pods=seen.pod_counts[0] if seen.pod_counts else None,
        error="; ".join(_name_losses(seen, timelines, bindings_ns)),
    )


def make_node_records(bodies: Iterable[JsonObject]) -> tuple[NodeState, ...]:
    """Return the nodes with what they can give, by name."""
    records = (NodeState(str(body["metadata"]["name"]), read_node(body).room) for body in bodies)
    return tuple(sorted(records, key=lambda record: record.name))


def _make_pod_records(
    seen: Observations, timelines: Iterable[PodTimeline], watched: Iterable[PodTimeline]
) -> Iterator[PodRecord]:
    bodies = {change.uid: change.body for change in seen.changes if change.kind == "Pod"}
    for line, receipts in zip(timelines, watched, strict=True):
        if (line.created and line.created > seen.window.stop) or (line.gone and line.gone <= seen.window.start):
            continue
        pod = read_pod(bodies[line.uid])
        bound_later = line.bound is not None and line.bound > seen.window.stop
        watched_s = receipts.created_to_bound_s
        yield PodRecord(
            uid=line.uid,
            name=line.name,
            workload=pod.workload,
            priority=pod.priority,
            requests=pod.requests,
            node="" if bound_later else line.node,
            created_s=_place_in_window(seen.window, line.created),
            bound_s=_place_in_window(seen.window, line.bound),
            ready_s=_place_in_window(seen.window, line.ready),
            gone_s=_place_in_window(seen.window, line.gone),
            watch_t_sched_s=None if watched_s is None else round(watched_s, DIGITS),
        )


def _place_in_window(window: Window, at: Receipt | None) -> float | None:
    """Return a moment of the window; what was before or after was not seen in it."""
    if at is None or not window.start < at <= window.stop:
        return None
    return round(at.seconds_since(window.start), DIGITS)


def _name_losses(seen: Observations, timelines: Iterable[PodTimeline], bindings_ns: Iterable[str]) -> Iterator[str]:
    there, watched = seen.pod_counts or (0, 0)
    if there != watched:
        yield f"the API server has {there} pods, of which the watch shows {watched}"
    listed = (one.receipt for one in seen.changes if one.kind == "Pod" and one.verb is Verb.LISTED)
    if any(seen.window.start < receipt <= seen.window.stop for receipt in listed):
        yield "the watch of pods broke off in the window and began with a new list"
    known = {line.key for line in timelines if line.node}
    missed = [key for key in bindings_ns if key.startswith(f"{seen.namespace}/") and key not in known]
    if missed:
        yield (f"{len(missed)} bindings of the audit log were not seen by the watch, the first that of {missed[0]}")
