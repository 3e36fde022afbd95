"""How far the clocks can be trusted that the other metrics were read from."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.record import RunRecord, note_unlogged


def measure_clocks(record: RunRecord) -> Iterator[Metric]:
    """Yield what the watch says beside the API server, and how far they are apart."""
    lag_s = record.audit_lag_s
    bound = sum(1 for pod in record.pods if pod.bound_s is not None)
    unchecked = "no binding was found in the audit log" if lag_s is None else note_unlogged(record)
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
        if pod.watch_t_sched_s is not None and pod.created_s is not None and pod.bound_s is not None
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
