"""How far the clock of a run can be trusted: watch receipt against audit log."""

from __future__ import annotations

from collections.abc import Iterator

from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.record import RunRecord


def clock_metrics(record: RunRecord) -> Iterator[Metric]:
    """Yield the watch's median lag, and the events on which the clocks disagree."""
    lag_s = record.audit_lag_s
    bound = sum(1 for pod in record.pods if pod.bound_s is not None)
    unchecked = "no binding was found in the audit log" if lag_s is None else ""
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
