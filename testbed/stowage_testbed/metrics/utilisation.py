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


def compute_mean_utilisation(record: RunRecord, resource: str) -> float | None:
    """Return the utilisation averaged over the window; ``None`` without time or nodes.

    The nodes are taken as there for the whole window.
    """
    capacity = sum(node.resources[resource] for node in record.nodes)
    if not capacity or record.window_s <= 0:
        return None
    return sum_requested(record, resource).mean(record.window_s) / capacity


def measure_utilisation(record: RunRecord) -> Iterator[Metric]:
    """Yield utilisation at the end, its change, and its average, per resource."""
    before, after = (compute_utilisation(state) for state in (find_state_at_start(record), find_state_at_end(record)))
    n = len(record.nodes)
    nothing = "" if n else "no nodes"
    for resource, end in after.items():
        begin = before[resource]
        values = {
            "end": float(end) if n else None,
            "delta": float(end - begin) if n else None,
            "mean": compute_mean_utilisation(record, resource),
        }
        for what, value in values.items():
            note = "no time passed" if n and value is None else nothing
            # Only the average has to do with time.
            blur = record.resolution_s / record.window_s if record.window_s else 0.0
            yield Metric(
                f"utilisation_{resource}_{what}", value, "ratio", "higher", n, blur if what == "mean" else 0.0, note
            )
