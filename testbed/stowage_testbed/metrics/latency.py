"""T_sched, T_ready and T_post of the second paper (section 5.2.1), with how many pods lack each; throughput."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from statistics import fmean, median

from stowage_testbed.metrics.record import Metric, RunRecord, note_unlogged


def percentile(samples: Sequence[float], rank: float) -> tuple[float | None, str]:
    """Return the nearest-rank percentile, 0 <= ``rank`` < 100; of fewer than 100 / (100 - rank) none, and why."""
    if not 0 <= rank < 100:  # noqa: PLR2004 - a percentage
        raise ValueError(f"rank {rank:g} must lie from 0 up to, not including, 100")
    exact_rank = Fraction(str(rank))
    needed, n = math.ceil(100 / (100 - exact_rank)), len(samples)
    if n < needed:
        return None, f"p{rank:g} needs n >= {needed}, got {n}"
    return sorted(samples)[max(math.ceil(exact_rank / 100 * n), 1) - 1], ""


RANKS = (50.0, 90.0, 95.0, 99.0)
SUMMARY_RANKS = (50.0, 90.0, 99.0)
"""Those for which the summary of a run has room."""


LATENCIES: Mapping[str, tuple[str, str]] = {
    "t_sched": ("created_s", "bound_s"),
    "t_ready": ("created_s", "ready_s"),
    "t_post": ("bound_s", "ready_s"),
}
"""The moments of a pod between which each is."""


def list_latencies_s(record: RunRecord, latency: str) -> tuple[list[float], int]:
    """Return a latency of the pods that had its first moment in the window, and how many lack the second."""
    begin, end = LATENCIES[latency]
    moments = [(getattr(pod, begin), getattr(pod, end)) for pod in record.pods]
    begun = [(begin_s, end_s) for begin_s, end_s in moments if begin_s is not None]
    samples_s = [end_s - begin_s for begin_s, end_s in begun if end_s is not None]
    return samples_s, len(begun) - len(samples_s)


def measure_latency(record: RunRecord) -> Iterator[Metric]:
    """Yield mean, percentiles, maximum and missing pods of each latency."""
    for name in LATENCIES:
        samples, missing = list_latencies_s(record, name)
        n = len(samples)
        left_out = f"{missing} of {n + missing} pods have none" if missing else ""
        nothing = "" if samples else "no samples"
        values = [
            ("mean", fmean(samples) if samples else None, nothing),
            *((f"p{rank:g}", *percentile(samples, rank)) for rank in RANKS),
            ("max", max(samples, default=None), nothing),
        ]
        for what, value, reason in values:
            note = "; ".join(filter(None, (reason, left_out, note_unlogged(record))))
            yield Metric(f"{name}_{what}_s", value, "s", "lower", n, record.resolution_s, note)
        yield Metric(f"{name}_missing_pods", missing, "pods", "lower", n + missing, 1.0)


FEWEST_SECONDS = 3
"""Whole seconds below which a median of them says no more than the overall rate."""


def measure_throughput(record: RunRecord) -> Iterator[Metric]:
    """Yield the rate over the burst, from the first creation to the last binding, and peak and median of its seconds.

    Seconds without a binding count too. The last one is left out of the median: it may have been cut short.
    """
    created_s = [pod.created_s for pod in record.pods if pod.created_s is not None]
    bound_s = [pod.bound_s for pod in record.pods if pod.created_s is not None and pod.bound_s is not None]
    n, first_s = len(bound_s), min(created_s, default=0.0)
    span_s = max(bound_s) - first_s if bound_s else 0.0
    if span_s <= 0:
        yield Metric("throughput_pods_per_s", None, "pods/s", "higher", n, note="no time passed")
    else:
        rate = n / span_s
        yield Metric("throughput_pods_per_s", rate, "pods/s", "higher", n, rate * record.resolution_s / span_s)
    bins = Counter(math.floor(moment_s - first_s) for moment_s in bound_s)
    per_second = [bins[second] for second in range(math.floor(span_s) + 1)]
    seconds = per_second[: math.floor(span_s)]
    whole = len(seconds)
    peak = max(per_second) if whole else None
    short = "" if whole else "all was bound within one second"
    yield Metric("throughput_peak_pods_per_s", peak, "pods/s", "higher", n, 1.0, short)
    middle, few = median(seconds) if whole >= FEWEST_SECONDS else None, ""
    if middle is None:
        few = f"needs {FEWEST_SECONDS} whole seconds, got {whole}"
    yield Metric("throughput_median_pods_per_s", middle, "pods/s", "higher", whole, 1.0, few)
