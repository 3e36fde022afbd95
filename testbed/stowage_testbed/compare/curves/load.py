"""What is requested of the nodes, and how many pods wait, over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stowage_testbed.compare.curves.line import Line, thinned
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.metrics.resource import Resource, amount
from stowage_testbed.metrics.step_line import StepLine
from stowage_testbed.metrics.utilisation import requested
from stowage_testbed.metrics.waiting import waiting_pods


def utilisation_over_time(record: RunRecord, resource: Resource) -> Line:
    """Return the requested share of what all nodes have, from 0 to 1."""
    capacity = sum(amount(resource, node) for node in record.nodes)
    return _line(requested(record, resource), record.window_s, 1 / max(capacity, 1))


def waiting_over_time(record: RunRecord) -> Line:
    """Return the number of pods without a node."""
    return _line(waiting_pods(record), record.window_s, 1.0)


LOADS: Mapping[str, Callable[[RunRecord], Line]] = {
    "cpu": lambda record: utilisation_over_time(record, "cpu"),
    "memory": lambda record: utilisation_over_time(record, "memory"),
    "waiting": waiting_over_time,
}

MEANINGS: Mapping[str, str] = {
    "cpu": "CPU requested, share of all nodes",
    "memory": "memory requested, share of all nodes",
    "waiting": "pods without a node",
}


def _line(steps: StepLine, window_s: float, factor: float) -> Line:
    """Return a step line from 0 to the window's end; what ends with it is drawn on."""
    points = [
        (time_s, value * factor)
        for time_s, value in zip(steps.times_s, steps.values, strict=True)
        if time_s < window_s
    ]
    last = points[-1][1] if points else 0.0
    drawn = [(0.0, 0.0), *points, (window_s, last)]
    return thinned([x for x, _ in drawn], [y for _, y in drawn])
