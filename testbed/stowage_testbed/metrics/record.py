"""What is kept of one measured run: all that its metrics and pictures are made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.hpa.record import HpaRecord
from stowage_testbed.metrics.state import ClusterState, NodeState, PodState
from stowage_testbed.observe.receipt import CLOCK_NAME


@dataclass(frozen=True, slots=True)
class PodRecord:
    """A pod that was there in the measured window.

    Times are seconds from the window's start on the run's clock, ``None`` for what was not seen: a pod that was there
    before has no ``created_s``. ``watch_t_sched_s`` is creation to binding as the watch received them. ``requests``
    counts the pod as one of pods, and ``node`` is where it was bound last.
    """

    uid: str
    name: str
    workload: str
    priority: int
    requests: Resources
    node: str = ""
    created_s: float | None = None
    bound_s: float | None = None
    ready_s: float | None = None
    gone_s: float | None = None
    watch_t_sched_s: float | None = None


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One scenario, once, with one scheduler.

    Runs of one round, from 1, are a pair. ``resolution_s`` is what two latencies must differ by on the run's clock,
    ``watch_resolution_s`` as the watch received them. ``answers_late_s``, the ninth decile, is taken off.
    ``audit_lag_s`` is the median of receipt less audit stamp, ``audit_beyond`` how many events are off it
    (`stowage_testbed.observe.agreement`), ``audit_missing`` how many bindings the log lacks. ``api_pods`` is the API
    server's count at the end, ``bound_placed`` the proved most pods that could be placed. Memory and CPU time are of
    all the scheduler's processes.
    """

    scenario_id: str
    arm: str
    limits: str
    round_number: int
    nodes: tuple[NodeState, ...]
    pods: tuple[PodRecord, ...]
    window_s: float
    clock: str = CLOCK_NAME
    resolution_s: float = 0.001
    watch_resolution_s: float | None = None
    answers_late_s: float | None = None
    audit_lag_s: float | None = None
    audit_beyond: int = 0
    audit_missing: int = 0
    api_pods: int | None = None
    moves: int = 0
    evictions: int = 0
    bound_placed: int | None = None
    peak_memory_bytes: int | None = None
    cpu_s: float | None = None
    warm: bool = False
    error: str = ""
    recovery: HpaRecord | None = None


def write_record(record: RunRecord) -> bytes:
    """Return a record as JSON."""
    return msgspec.json.encode(record, enc_hook=dict)


def read_record(text: bytes) -> RunRecord:
    """Return the record that `write_record` wrote, or raise a MsgspecError."""

    def read_resources(_: type, plain: Any) -> Resources:
        return Resources(msgspec.convert(plain, dict[str, int]))

    return msgspec.json.decode(text, type=RunRecord, dec_hook=read_resources)


Span = tuple[float, float]
"""Begin and end in seconds from the window's start."""


def note_unlogged(record: RunRecord) -> str:
    """Return how many bindings the audit log lacks, in words; empty for none."""
    return f"{record.audit_missing} bindings are not in the audit log" if record.audit_missing else ""


def bound_from_s(pod: PodRecord) -> float | None:
    """Return since when the pod has had its node, in the window; ``None`` for one that never had."""
    if pod.bound_s is not None:
        return pod.bound_s
    return (pod.created_s or 0.0) if pod.node else None


def find_waiting_span(pod: PodRecord, window_s: float) -> Span | None:
    """Return when the pod had no node within the window: from its creation to its binding, its end, or the window's."""
    end_s = bound_from_s(pod)
    if end_s is None:
        end_s = window_s if pod.gone_s is None else pod.gone_s
    begin_s = pod.created_s or 0.0
    return (begin_s, end_s) if end_s > begin_s else None


def find_placed_span(pod: PodRecord, window_s: float) -> Span | None:
    """Return when the pod held room on its node, as far as the window shows it."""
    begin_s = bound_from_s(pod)
    if begin_s is None:
        return None
    end_s = window_s if pod.gone_s is None else pod.gone_s
    return (begin_s, end_s) if end_s > begin_s else None


def find_state_at_start(record: RunRecord) -> ClusterState:
    """Return the pods that were there before the window, where they were then."""
    there = (pod for pod in record.pods if pod.created_s is None)
    return ClusterState(record.nodes, tuple(_make_pod_state(pod, placed=pod.bound_s is None) for pod in there))


def find_state_at_end(record: RunRecord) -> ClusterState:
    """Return the pods that have not gone, where they are."""
    left = (pod for pod in record.pods if pod.gone_s is None)
    return ClusterState(record.nodes, tuple(_make_pod_state(pod, placed=bound_from_s(pod) is not None) for pod in left))


def _make_pod_state(pod: PodRecord, *, placed: bool) -> PodState:
    return PodState(
        workload=pod.workload,
        node=(pod.node or None) if placed else None,
        requests=pod.requests,
        priority=pod.priority,
        name=pod.name,
    )
