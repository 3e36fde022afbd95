"""T_sched, T_ready and T_post of the second paper (section 5.2.1), with their missing.

A pod that was never bound has no T_sched. To leave it out without a word would make the
worst scheduler look best, so every latency comes with the number of pods it lacks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean

from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.record import RunRecord, note_unlogged


@dataclass(frozen=True, slots=True)
class Percentile:
    """One percentile. ``value`` is None where ``reason`` says why there is none."""

    rank: float
    n: int
    value: float | None
    reason: str = ""


def percentile(samples: Sequence[float], rank: float) -> Percentile:
    """Return the nearest-rank percentile: the smallest sample that covers ``rank`` %.

    At least 100 / (100 - rank) samples are needed (100 for p99, 20 for p95, 1 for
    p0): with fewer, the percentile would be the maximum by another name.

    Raises
    ------
    ValueError
        ``rank`` is outside 0 to 100 (100 itself excluded).
    """
    if not 0 <= rank < 100:  # noqa: PLR2004 - a percentage
        raise ValueError(f"rank {rank:g} must lie from 0 up to, not including, 100")
    exact_rank = Fraction(str(rank))
    needed = math.ceil(100 / (100 - exact_rank))
    n = len(samples)
    if n < needed:
        return Percentile(rank, n, None, f"p{rank:g} needs n >= {needed}, got {n}")
    index = max(math.ceil(exact_rank / 100 * n), 1) - 1
    return Percentile(rank, n, sorted(samples)[index])


RANKS = (50.0, 90.0, 95.0, 99.0)
"""Percentiles of every latency of a measured window."""

SUMMARY_RANKS = (50.0, 90.0, 99.0)
"""Those for which the summary of a run has room."""


@dataclass(frozen=True, slots=True)
class Latencies:
    """One kind of latency of a run.

    Attributes
    ----------
    samples_s
        Seconds, one a pod whose two moments were both seen.
    missing
        Pods that began to wait and whose end was not seen.
    """

    samples_s: tuple[float, ...]
    missing: int


def measure_t_sched(record: RunRecord) -> Latencies:
    """Return creation to binding, of the pods that were created in the window."""
    return _make_latencies([(pod.created_s, pod.bound_s) for pod in record.pods])


def measure_t_ready(record: RunRecord) -> Latencies:
    """Return creation to readiness, of the pods that were created in the window."""
    return _make_latencies([(pod.created_s, pod.ready_s) for pod in record.pods])


def measure_t_post(record: RunRecord) -> Latencies:
    """Return binding to readiness, of the pods that were bound in the window."""
    return _make_latencies([(pod.bound_s, pod.ready_s) for pod in record.pods])


LATENCIES: Mapping[str, Callable[[RunRecord], Latencies]] = {
    "t_sched": measure_t_sched,
    "t_ready": measure_t_ready,
    "t_post": measure_t_post,
}


def measure_latency(record: RunRecord) -> Iterator[Metric]:
    """Yield mean, percentiles, maximum and missing pods of each latency."""
    for name, latency in LATENCIES.items():
        yield from _measure(name, latency(record), record)


def _make_latencies(spans_s: Sequence[tuple[float | None, float | None]]) -> Latencies:
    begun = [(begin_s, end_s) for begin_s, end_s in spans_s if begin_s is not None]
    samples = [end_s - begin_s for begin_s, end_s in begun if end_s is not None]
    return Latencies(tuple(samples), len(begun) - len(samples))


def _measure(name: str, latencies: Latencies, record: RunRecord) -> Iterator[Metric]:
    samples, missing = latencies.samples_s, latencies.missing
    resolution_s, partly = record.resolution_s, note_unlogged(record)
    n = len(samples)
    left_out = f"{missing} of {n + missing} pods have none" if missing else ""

    def metric(what: str, value: float | None, reason: str) -> Metric:
        note = "; ".join(filter(None, (reason, left_out, partly)))
        return Metric(f"{name}_{what}_s", value, "s", "lower", n, resolution_s, note)

    nothing = "" if samples else "no samples"
    yield metric("mean", fmean(samples) if samples else None, nothing)
    for rank in RANKS:
        found = percentile(samples, rank)
        yield metric(f"p{rank:g}", found.value, found.reason)
    yield metric("max", max(samples, default=None), nothing)
    yield Metric(f"{name}_missing_pods", missing, "pods", "lower", n + missing, 1.0)
