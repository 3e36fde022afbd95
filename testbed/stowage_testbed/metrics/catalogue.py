"""Every metric of a run, in one fixed order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from statistics import fmean

from stowage_testbed.metrics.distribution import measure_distribution
from stowage_testbed.metrics.fragmentation import measure_fragmentation
from stowage_testbed.metrics.inversions import measure_inversions
from stowage_testbed.metrics.latency import measure_latency
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.over_time import measure_waiting
from stowage_testbed.metrics.record import RunRecord, find_state_at_end, note_unlogged
from stowage_testbed.metrics.recovery import measure_hpa
from stowage_testbed.metrics.throughput import measure_throughput
from stowage_testbed.metrics.utilisation import measure_utilisation


def measure_placed(record: RunRecord) -> Iterator[Metric]:
    """Yield placed pods, the gap to the optimiser's bound, moves and evictions."""
    state = find_state_at_end(record)
    placed, n = len(state.bound), len(state.pods)
    yield Metric("placed_pods", placed, "pods", "higher", n, 1.0)
    yield Metric("unplaced_pods", len(state.pending), "pods", "lower", n, 1.0)
    yield _measure_gap(record.bound_placed, placed, n)
    yield Metric("moves_pods", record.moves, "pods", "lower", n, 1.0)
    yield Metric("evictions_pods", record.evictions, "pods", "lower", n, 1.0)


def _measure_gap(bound: int | None, placed: int, n: int) -> Metric:
    name = "gap_to_bound_pods"
    if bound is None:
        note = "no plan proves a bound for the state at the end"
        return Metric(name, None, "pods", "lower", n, 1.0, note)
    note = "more than proved possible: the bound is wrong" if placed > bound else ""
    return Metric(name, bound - placed, "pods", "lower", n, 1.0, note)


CPU_TICK_S = 0.01
"""Linux counts CPU time in hundredths of a second."""

PAGE_BYTES = 4096


def measure_footprint(record: RunRecord) -> Iterator[Metric]:
    """Yield the peak memory and the CPU time of the scheduler."""
    for name, value, unit, resolution in (
        ("scheduler_memory_peak_bytes", record.peak_memory_bytes, "bytes", PAGE_BYTES),
        ("scheduler_cpu_s", record.cpu_s, "s", CPU_TICK_S),
    ):
        missing = value is None
        note = "not measured" if missing else ""
        yield Metric(name, value, unit, "lower", int(not missing), resolution, note)


def measure_clocks(record: RunRecord) -> Iterator[Metric]:
    """Yield what the watch says beside the API server, and how far they are apart."""
    lag_s = record.audit_lag_s
    bound = sum(1 for pod in record.pods if pod.bound_s is not None)
    unchecked = (
        "no binding was found in the audit log"
        if lag_s is None
        else note_unlogged(record)
    )
    yield Metric("watch_lag_median_s", lag_s, "s", "neither", bound, 1e-6, unchecked)
    yield Metric(
        "clocks_apart_events",
        None if lag_s is None else record.audit_beyond,
        "events",
        "neither",
        bound,
        1.0,
        unchecked,
    )
    yield _measure_watched(record)
    late_s = record.answers_late_s
    note = f"the clock is the {record.clock}" if late_s is None else ""
    yield Metric("answers_late_p90_s", late_s, "s", "neither", bound, 1e-6, note)


def _measure_watched(record: RunRecord) -> Metric:
    """Return the mean time to a node as the watch received creation and binding."""
    found = [
        pod.watch_t_sched_s
        for pod in record.pods
        if pod.watch_t_sched_s is not None
        and pod.created_s is not None
        and pod.bound_s is not None
    ]
    return Metric(
        "t_sched_watch_mean_s",
        fmean(found) if found else None,
        "s",
        "lower",
        len(found),
        record.watch_resolution_s or record.resolution_s,
        "" if found else "no samples",
    )


_PARTS: tuple[Callable[[RunRecord], Iterable[Metric]], ...] = (
    measure_latency,
    measure_throughput,
    measure_waiting,
    measure_distribution,
    measure_utilisation,
    measure_fragmentation,
    measure_placed,
    measure_inversions,
    measure_footprint,
    measure_clocks,
)


def metrics_of(record: RunRecord) -> tuple[Metric, ...]:
    """Return the metrics of a run: for every record the same names in the same order.

    Where a service was overloaded, those of its recovery come last. A metric's name
    ends in its unit, unless it is a ratio or an index. A run that failed has no values,
    only its reason: half of a burst is not a faster burst.
    """
    of_recovery = measure_hpa(record.recovery) if record.recovery else ()
    of_pods = (metric for part in _PARTS for metric in part(record))
    metrics = (*of_pods, *of_recovery)
    if not record.error:
        return metrics
    note = f"the run failed: {record.error}"
    return tuple(replace(metric, value=None, note=note) for metric in metrics)
