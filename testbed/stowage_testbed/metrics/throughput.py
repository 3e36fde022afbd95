"""Pods bound a second: over the whole burst, and in each second of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.record import RunRecord

FEWEST_SECONDS = 3
"""Whole seconds below which a median of them says no more than the overall rate."""


@dataclass(frozen=True, slots=True)
class Throughput:
    """How fast the pods that were created in the window were bound.

    Attributes
    ----------
    bound
        Number of them.
    span_s
        From the first creation to the last binding.
    per_second
        Bindings in each second from the first creation on, empty seconds included: to
        leave them out would raise the median. The last second may have been cut short.
    """

    bound: int
    span_s: float
    per_second: tuple[int, ...]

    @property
    def whole_seconds(self) -> tuple[int, ...]:
        """The bindings in the seconds that were over before the last binding."""
        return self.per_second[: math.floor(self.span_s)]


def compute_throughput(record: RunRecord) -> Throughput | None:
    """Return the throughput of a run; ``None`` where nothing was created and bound."""
    created_s = [pod.created_s for pod in record.pods if pod.created_s is not None]
    bound_s = [pod.bound_s for pod in record.pods if pod.created_s is not None and pod.bound_s is not None]
    if not bound_s:
        return None
    first_s = min(created_s)
    span_s = max(bound_s) - first_s
    bins = Counter(math.floor(moment_s - first_s) for moment_s in bound_s)
    return Throughput(
        bound=len(bound_s), span_s=span_s, per_second=tuple(bins[second] for second in range(math.floor(span_s) + 1))
    )


def measure_throughput(record: RunRecord) -> Iterator[Metric]:
    """Yield the rate over the burst, and peak and median of its seconds."""
    found = compute_throughput(record)
    n = found.bound if found else 0
    yield _measure_overall(found, record.resolution_s)
    seconds = found.whole_seconds if found else ()
    short = "" if seconds else "all was bound within one second"
    yield _measure_sampled("peak", max(found.per_second) if found and seconds else None, n, short)
    few = len(seconds) < FEWEST_SECONDS
    yield _measure_sampled(
        "median",
        None if few else median(seconds),
        len(seconds),
        f"needs {FEWEST_SECONDS} whole seconds, got {len(seconds)}" if few else "",
    )


def _measure_overall(found: Throughput | None, resolution_s: float) -> Metric:
    name, unit = "throughput_pods_per_s", "pods/s"
    if found is None or found.span_s <= 0:
        n = found.bound if found else 0
        return Metric(name, None, unit, "higher", n, note="no time passed")
    rate = found.bound / found.span_s
    step = rate * resolution_s / found.span_s
    return Metric(name, rate, unit, "higher", found.bound, step)


def _measure_sampled(what: str, value: float | None, n: int, note: str) -> Metric:
    name = f"throughput_{what}_pods_per_s"
    return Metric(name, value, "pods/s", "higher", n, 1.0, note)
