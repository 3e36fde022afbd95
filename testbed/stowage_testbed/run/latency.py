"""Percentiles of one checkpoint's latencies, with all that is needed to trust them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stowage_testbed.metrics.latency import SUMMARY_RANKS, Percentile, percentile
from stowage_testbed.observe.receipt import CLOCK_NAME, RESOLUTION_S
from stowage_testbed.observe.timeline import summarise_lags


@dataclass(frozen=True, slots=True)
class Latency:
    """Created-to-bound latencies of pods, in seconds.

    Attributes
    ----------
    n
        Number of pods whose two moments were both seen.
    resolution_s
        What two latencies must differ by to differ at all: the spread of the watch's
        lag behind the audit log, and never less than a receipt's own resolution.
    audit_lag_s
        Median of that lag; ``None`` where nothing was bound.
    """

    n: int
    percentiles: tuple[Percentile, ...]
    clock: str = CLOCK_NAME
    resolution_s: float = RESOLUTION_S
    audit_lag_s: float | None = None


def make_latency(samples_s: Sequence[float], audit_lags_s: Sequence[float]) -> Latency:
    """Return the percentiles of the samples; those with too small an n are empty.

    Parameters
    ----------
    samples_s
        One latency a pod, in seconds.
    audit_lags_s
        Watch receipt minus audit stamp of the same bindings, in seconds.
    """
    of_lags = summarise_lags(audit_lags_s)
    return Latency(
        n=len(samples_s),
        percentiles=tuple(percentile(samples_s, rank) for rank in SUMMARY_RANKS),
        resolution_s=of_lags.resolution_s,
        audit_lag_s=of_lags.median_lag_s,
    )
