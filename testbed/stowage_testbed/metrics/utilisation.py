"""Requested share of what the nodes have: at the end, as a change, and over time."""

from __future__ import annotations

from collections.abc import Iterator

from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.over_time import StepLine, add_up
from stowage_testbed.metrics.packing import compute_utilisation
from stowage_testbed.metrics.record import RunRecord, find_placed_span, find_state_at_end, find_state_at_start


def sum_requested(record: RunRecord, resource: str) -> StepLine:
    """Return what the bound pods request, from the window's start to its end."""
    spans = ((find_placed_span(pod, record.window_s), pod) for pod in record.pods)
    return add_up((span, pod.requests[resource]) for span, pod in spans if span is not None)


def measure_utilisation(record: RunRecord) -> Iterator[Metric]:
    """Yield utilisation at the end, its change, and its average, per resource.

    For the average, the nodes are taken as there for the whole window.
    """
    before, after = (compute_utilisation(state) for state in (find_state_at_start(record), find_state_at_end(record)))
    n, window_s = len(record.nodes), record.window_s
    for resource, end in after.items():
        capacity = sum(node.resources[resource] for node in record.nodes)
        timed = capacity and window_s > 0
        mean = sum_requested(record, resource).mean(window_s) / capacity if timed else None
        # Only the average has to do with time.
        blur = record.resolution_s / window_s if window_s else 0.0
        for what, value, resolution in (
            ("end", float(end) if n else None, 0.0),
            ("delta", float(end - before[resource]) if n else None, 0.0),
            ("mean", mean, blur),
        ):
            note = "no nodes" if not n else "no time passed" if value is None else ""
            yield Metric(f"utilisation_{resource}_{what}", value, "ratio", "higher", n, resolution, note)
