"""Pods without a node over time: the length of the scheduler's queue."""

from __future__ import annotations

from collections.abc import Iterator

from stowage_testbed.metrics.lifetime import waiting_span
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.metrics.step_line import StepLine, step_line


def waiting_pods(record: RunRecord) -> StepLine:
    """Return how many pods had no node, from the window's start to its end."""
    spans = (waiting_span(pod, record.window_s) for pod in record.pods)
    return step_line((span, 1) for span in spans if span is not None)


def waiting_metrics(record: RunRecord) -> Iterator[Metric]:
    """Yield average over time and peak.

    By Little's law the average is the rate of arrivals times the mean time waited, so
    that runs are only to be compared by it where their windows are alike.
    """
    line, n = waiting_pods(record), len(record.pods)
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
