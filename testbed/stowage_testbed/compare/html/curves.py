"""Lines that the page draws: latency distributions, and loads over time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from stowage_testbed.compare.result import Result
from stowage_testbed.hpa.record import HpaRecord
from stowage_testbed.metrics.columns import name_requested
from stowage_testbed.metrics.latency import LATENCIES
from stowage_testbed.metrics.over_time import count_waiting
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


@dataclass(frozen=True, slots=True)
class Load:
    """What is drawn of a run over its window: a share of something, or a number."""

    meaning: str
    share: bool
    line_of: Callable[[RunRecord], Line]


def utilisation_over_time(record: RunRecord, resource: str) -> Line:
    """Return the requested share of what all nodes have, from 0 to 1."""
    capacity = sum(node.resources[resource] for node in record.nodes)
    steps = sum_requested(record, resource)
    shares = (value / max(capacity, 1) for value in steps.values)
    return _line(zip(steps.times_s, shares, strict=True), record.window_s)


def waiting_over_time(record: RunRecord) -> Line:
    """Return the number of pods without a node."""
    steps = count_waiting(record)
    return _line(zip(steps.times_s, steps.values, strict=True), record.window_s)


def _of_service(points: Callable[[HpaRecord], Iterable[tuple[float, float]]]) -> Callable[[RunRecord], Line]:
    """Return the line of what was seen of an overloaded service; HOLD is the window."""

    def line_of(record: RunRecord) -> Line:
        found = record.recovery
        if found is None:
            return Line((), ())
        start_s = found.hold_start_s
        seen = ((max(at_s - start_s, 0.0), value) for at_s, value in points(found))
        return _line(seen, record.window_s)

    return line_of


RECOVERY_LOADS: Mapping[str, Load] = {
    "desired": Load(
        "replicas that the autoscaler wants",
        False,
        _of_service(lambda found: [(one.at_s, one.desired) for one in found.replicas]),
    ),
    "pods": Load(
        "pods of the service", False, _of_service(lambda found: [(one.at_s, one.total) for one in found.pods])
    ),
    "ready": Load(
        "ready pods of the service", False, _of_service(lambda found: [(one.at_s, one.ready) for one in found.pods])
    ),
    "usage": Load(
        "CPU usage as the autoscaler reads it, share of the request",
        True,
        _of_service(
            lambda found: [(one.at_s, one.cpu_percent / 100) for one in found.replicas if one.cpu_percent is not None]
        ),
    ),
    "p99": Load(
        "p99 latency of the service (s)",
        False,
        _of_service(lambda found: [(one.start_s, one.p99_s) for one in found.hold]),
    ),
    "errors": Load(
        "share of requests that timed out",
        True,
        _of_service(lambda found: [(one.start_s, one.errors) for one in found.hold]),
    ),
}


def loads_of(result: Result) -> dict[str, Load]:
    """Return what there is to draw over time, by name."""
    loads = {
        name: Load(f"{name_requested(name)}, share of all nodes", True, partial(utilisation_over_time, resource=name))
        for name in result.resources
    }
    loads["waiting"] = Load("pods without a node", False, waiting_over_time)
    if any(record.recovery for record in result.records):
        loads |= RECOVERY_LOADS
    return loads


def _line(points: Iterable[tuple[float, float]], window_s: float) -> Line:
    """Return a step line from 0 to the window's end; what ends with it is drawn on."""
    drawn = [(0.0, 0.0), *(point for point in points if point[0] < window_s)]
    drawn.append((window_s, drawn[-1][1]))
    return thinned([x for x, _ in drawn], [y for _, y in drawn])
