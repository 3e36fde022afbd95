"""Every metric of a run, in one fixed order; the subjects with few of them stand here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from statistics import fmean

from stowage_testbed.metrics.distribution import measure_distribution
from stowage_testbed.metrics.fragmentation import measure_fragmentation
from stowage_testbed.metrics.inversions import measure_inversions
from stowage_testbed.metrics.latency import measure_latency, measure_throughput
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.over_time import count_waiting
from stowage_testbed.metrics.record import RunRecord, find_state_at_end, note_unlogged
from stowage_testbed.metrics.recovery import measure_hpa
from stowage_testbed.metrics.utilisation import measure_utilisation

CPU_TICK_S = 0.01
"""Linux counts CPU time in hundredths of a second."""

PAGE_BYTES = 4096


def metrics_of(record: RunRecord) -> tuple[Metric, ...]:
    """Return the metrics of a run: for every record the same names in the same order.

    Where a service was overloaded, those of its recovery come last. A metric's name ends in its unit, unless it is a
    ratio or an index. A run that failed has no values, only its reason: half of a burst is not a faster burst.
    """
    of_recovery = measure_hpa(record.recovery) if record.recovery else ()
    metrics = (*(metric for measure in _MEASURES for metric in measure(record)), *of_recovery)
    if not record.error:
        return metrics
    return tuple(replace(metric, value=None, note=f"the run failed: {record.error}") for metric in metrics)


def measure_waiting(record: RunRecord) -> Iterator[Metric]:
    """Yield average over time and peak of the pods without a node.

    By Little's law the average is the rate of arrivals times the mean time waited, so that runs are only to be compared
    by it where their windows are alike.
    """
    line, n = count_waiting(record), len(record.pods)
    timed = record.window_s > 0
    # Each of the waits may be off by the resolution.
    resolution = n * record.resolution_s / record.window_s if timed else 0.0
    mean = line.mean(record.window_s) if timed else None
    yield Metric("waiting_mean_pods", mean, "pods", "lower", n, resolution, "" if timed else "no time passed")
    yield Metric("waiting_peak_pods", line.peak, "pods", "lower", n, 1.0)


def measure_placed(record: RunRecord) -> Iterator[Metric]:
    """Yield placed pods, the gap to the optimiser's bound, moves and evictions."""
    state = find_state_at_end(record)
    bound, placed, n = record.bound_placed, len(state.bound), len(state.pods)
    yield Metric("placed_pods", placed, "pods", "higher", n, 1.0)
    yield Metric("unplaced_pods", len(state.pending), "pods", "lower", n, 1.0)
    gap, note = None, "no plan proves a bound for the state at the end"
    if bound is not None:
        gap, note = bound - placed, "more than proved possible: the bound is wrong" if placed > bound else ""
    yield Metric("gap_to_bound_pods", gap, "pods", "lower", n, 1.0, note)
    yield Metric("moves_pods", record.moves, "pods", "lower", n, 1.0)
    yield Metric("evictions_pods", record.evictions, "pods", "lower", n, 1.0)


def measure_footprint(record: RunRecord) -> Iterator[Metric]:
    """Yield the peak memory and the CPU time of the scheduler."""
    for name, value, unit, resolution in (
        ("scheduler_memory_peak_bytes", record.peak_memory_bytes, "bytes", PAGE_BYTES),
        ("scheduler_cpu_s", record.cpu_s, "s", CPU_TICK_S),
    ):
        missing = value is None
        yield Metric(name, value, unit, "lower", int(not missing), resolution, "not measured" if missing else "")


def measure_clocks(record: RunRecord) -> Iterator[Metric]:
    """Yield what the watch says beside the API server, and how far their clocks are apart."""
    lag_s, late_s = record.audit_lag_s, record.answers_late_s
    bound = sum(1 for pod in record.pods if pod.bound_s is not None)
    unchecked = "no binding was found in the audit log" if lag_s is None else note_unlogged(record)
    yield Metric("watch_lag_median_s", lag_s, "s", "neither", bound, 1e-6, unchecked)
    beyond = None if lag_s is None else record.audit_beyond
    yield Metric("clocks_apart_events", beyond, "events", "neither", bound, 1.0, unchecked)
    watched_s = [
        pod.watch_t_sched_s
        for pod in record.pods
        if pod.watch_t_sched_s is not None and pod.created_s is not None and pod.bound_s is not None
    ]
    yield Metric(
        "t_sched_watch_mean_s",
        fmean(watched_s) if watched_s else None,
        "s",
        "lower",
        len(watched_s),
        record.watch_resolution_s or record.resolution_s,
        "" if watched_s else "no samples",
    )
    note = f"the clock is the {record.clock}" if late_s is None else ""
    yield Metric("answers_late_p90_s", late_s, "s", "neither", bound, 1e-6, note)


_MEASURES: tuple[Callable[[RunRecord], Iterable[Metric]], ...] = (
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
