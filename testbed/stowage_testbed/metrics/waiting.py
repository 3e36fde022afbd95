"""How many pods waited for a node."""

from __future__ import annotations

from collections.abc import Iterator

from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.over_time import count_waiting
from stowage_testbed.metrics.record import RunRecord


def measure_waiting(record: RunRecord) -> Iterator[Metric]:
    """Yield average over time and peak.

    By Little's law the average is the rate of arrivals times the mean time waited, so
    that runs are only to be compared by it where their windows are alike.
    """
    line, n = count_waiting(record), len(record.pods)
    timed = record.window_s > 0
    yield Metric(
        "waiting_mean_pods",
        line.mean(record.window_s) if timed else None,
        "pods",
        "lower",
        n,
        # Each of the waits may be off by so much.
        n * record.resolution_s / record.window_s if timed else 0.0,
        "" if timed else "no time passed",
    )
    yield Metric("waiting_peak_pods", line.peak, "pods", "lower", n, 1.0)
