"""Lines that plots and page draw: latency distributions, and loads over time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from stowage_testbed.metrics.columns import name_requested
from stowage_testbed.metrics.latency import LATENCIES
from stowage_testbed.metrics.over_time import StepLine, count_waiting
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.metrics.utilisation import sum_requested

MOST_POINTS = 400
"""More than this a plot of that width cannot show."""


@dataclass(frozen=True, slots=True)
class Line:
    """Steps: ``y[i]`` holds from ``x[i]`` until ``x[i + 1]``."""

    x: tuple[float, ...]
    y: tuple[float, ...]


def thinned(x: Sequence[float], y: Sequence[float], most: int = MOST_POINTS) -> Line:
    """Return at most ``most`` of the steps, first and last among them."""
    count = len(x)
    if count <= most:
        return Line(tuple(x), tuple(y))
    kept = [round(index * (count - 1) / (most - 1)) for index in range(most)]
    return Line(tuple(x[i] for i in kept), tuple(y[i] for i in kept))


LATENCY_MEANINGS: Mapping[str, str] = {
    "t_sched": "T_sched: created to bound",
    "t_ready": "T_ready: created to ready",
    "t_post": "T_post: bound to ready",
}


def distribution(records: Iterable[RunRecord], latency: str) -> Line:
    """Return the share of pods that had waited at most x seconds, over all records.

    Pods that never came to the end count as waiting for ever. Empty without samples.
    """
    found = [LATENCIES[latency](record) for record in records]
    samples = sorted(sample for one in found for sample in one.samples_s)
    if not samples:
        return Line((), ())
    n = len(samples) + sum(one.missing for one in found)
    shares = [rank / n for rank in range(1, len(samples) + 1)]
    return thinned((samples[0], *samples), (0.0, *shares))


def utilisation_over_time(record: RunRecord, resource: str) -> Line:
    """Return the requested share of what all nodes have, from 0 to 1."""
    capacity = sum(node.resources[resource] for node in record.nodes)
    return _line(sum_requested(record, resource), record.window_s, 1 / max(capacity, 1))


def waiting_over_time(record: RunRecord) -> Line:
    """Return the number of pods without a node."""
    return _line(count_waiting(record), record.window_s, 1.0)


def load_curves(
    resources: Iterable[str],
) -> dict[str, tuple[str, Callable[[RunRecord], Line]]]:
    """Return what is drawn over time: what it is called, and how it is found."""
    return {
        **{
            name: (
                f"{name_requested(name)}, share of all nodes",
                partial(utilisation_over_time, resource=name),
            )
            for name in resources
        },
        "waiting": ("pods without a node", waiting_over_time),
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
