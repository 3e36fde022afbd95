"""What is kept of one measured run and of each of its metrics, how it went over time, and how pages read it."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any, Literal

import msgspec

from stowage_testbed.amounts.resources import CPU, PODS, Resources
from stowage_testbed.hpa.recovery import HpaRecord
from stowage_testbed.metrics.state import ClusterState, NodeState, PodState
from stowage_testbed.observe.change import CLOCK_NAME


@dataclass(frozen=True, slots=True)
class PodRecord:
    """A pod that was there in the measured window.

    Times are seconds from the window's start on the run's clock, ``None`` for what was not seen: a pod that was there
    before has no ``created_s``. ``watch_t_sched_s`` is creation to binding as the watch received them. ``requests``
    counts the pod as one of pods, and ``node`` is where it was bound last. ``group`` is its PodGroup. It was
    ``disrupted`` when it was evicted or preempted, and is ``gone`` once it was deleted or finished, as one that
    ``succeeded`` has.
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
    group: str = ""
    disrupted_s: float | None = None
    succeeded: bool = False


@dataclass(frozen=True, slots=True)
class GangRecord:
    """A PodGroup whose pods are placed together, so many at least."""

    name: str
    min_count: int


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One scenario, once, with one scheduler.

    Runs of one round, from 1, are a pair. ``resolution_s`` is what two latencies must differ by on the run's clock,
    ``watch_resolution_s`` as the watch received them. ``answers_late_s``, the ninth decile, is taken off.
    ``audit_lag_s`` is the median of receipt less audit stamp, ``audit_beyond`` how many events are off it
    (`observe.timeline.Agreement`), ``audit_missing`` how many bindings the log lacks. ``api_pods`` is the API
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
    gangs: tuple[GangRecord, ...] = ()


Better = Literal["lower", "higher", "neither"]
"""Which direction is an improvement; `neither` is shown and not judged."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric's value in one run; ``None`` where ``note`` says why there is none.

    ``n`` is the number of samples; values that differ by less than ``resolution``, in the metric's unit, are equal.
    """

    name: str
    value: float | None
    unit: str
    better: Better
    n: int
    resolution: float = 0.0
    note: str = ""


def make_metric(  # noqa: PLR0917 - as in `Metric`
    name: str,
    value: float | Fraction | None,
    unit: str,
    better: Better,
    n: int,
    resolution: float = 0.0,
    note: str = "",
    missing: str = "",
) -> Metric:
    """Return a metric; where it has no value, its note is ``missing``."""
    if value is None:
        return Metric(name, None, unit, better, n, resolution, missing)
    return Metric(name, float(value) if isinstance(value, Fraction) else value, unit, better, n, resolution, note)


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


@dataclass(frozen=True, slots=True)
class StepLine:
    """``values[i]`` holds from ``times_s[i]`` until ``times_s[i + 1]``; 0 before."""

    times_s: tuple[float, ...]
    values: tuple[int, ...]

    @property
    def peak(self) -> int:
        """The largest value, 0 where there is none."""
        return max(self.values, default=0)

    def mean(self, window_s: float) -> float:
        """Return the average over time from 0 to ``window_s``, which is above 0."""
        ends_s = (*self.times_s, max(window_s, *self.times_s, 0.0))
        areas = (
            value * (end_s - begin_s) for value, (begin_s, end_s) in zip(self.values, pairwise(ends_s), strict=True)
        )
        return math.fsum(areas) / window_s

    def means(self, edges_s: Sequence[float]) -> list[float]:
        """Return the averages between each two edges, which ascend."""
        if not self.times_s:
            return [0.0] * (len(edges_s) - 1)
        # The area up to each time, and from the last one before it to each edge.
        steps = zip(self.values, pairwise(self.times_s), strict=False)
        areas = [0.0, *accumulate(value * (end_s - begin_s) for value, (begin_s, end_s) in steps)]

        def area_until(edge_s: float) -> float:
            last = bisect_right(self.times_s, edge_s) - 1
            return areas[last] + self.values[last] * (edge_s - self.times_s[last]) if last >= 0 else 0.0

        parts = zip(pairwise(map(area_until, edges_s)), pairwise(edges_s), strict=True)
        return [(after - before) / (end_s - begin_s) for (before, after), (begin_s, end_s) in parts]


def add_up(parts: Iterable[tuple[Span, int]]) -> StepLine:
    """Return the sum of amounts that are each there for one span of time."""
    changes: dict[float, int] = {}
    for (begin_s, end_s), amount in parts:
        changes[begin_s] = changes.get(begin_s, 0) + amount
        changes[end_s] = changes.get(end_s, 0) - amount
    times_s = sorted(changes)
    return StepLine(times_s=tuple(times_s), values=tuple(accumulate(changes[time_s] for time_s in times_s)))


def count_waiting(record: RunRecord) -> StepLine:
    """Return how many pods had no node, from the window's start to its end."""
    spans = (find_waiting_span(pod, record.window_s) for pod in record.pods)
    return add_up((span, 1) for span in spans if span is not None)


def list_node_columns(nodes: Sequence[NodeState], resources: Sequence[str]) -> dict[str, Any]:
    """Return the nodes' names, and what each has of pods and of these resources."""
    return {
        "names": [node.name for node in nodes],
        "resources": list(resources),
        "amounts": {name: [node.resources[name] for node in nodes] for name in (*resources, PODS)},
    }


def list_pod_columns(pods: Sequence[PodRecord] | Sequence[PodState], nodes: Sequence[NodeState]) -> dict[str, Any]:
    """Return the pods' names, kinds (workload, priority, requests) and nodes; -1 is none of the nodes."""
    places = {node.name: index for index, node in enumerate(nodes)}
    kinds: dict[tuple[Any, ...], int] = {}
    return {
        "names": [pod.name for pod in pods],
        "kind": [kinds.setdefault((pod.workload, pod.priority, pod.requests), len(kinds)) for pod in pods],
        "node": [places.get(pod.node or "", -1) for pod in pods],
        "kinds": [[workload, priority, dict(requests)] for workload, priority, requests in kinds],
    }


def name_requested(resource: str) -> str:
    """Return what a chart says of the requests of a resource."""
    return f"{'CPU' if resource == CPU else resource} requested"
