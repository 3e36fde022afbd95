"""Percentiles of one phase's latencies, with all that is needed to trust them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from testbed.metrics.percentile import Percentile, percentile
from testbed.observe.receipt import CLOCK_NAME, RESOLUTION_S

RANKS = (50.0, 90.0, 99.0)


@dataclass(frozen=True, slots=True)
class Latency:
    """Created-to-bound latencies of pods, in seconds.

    Attributes
    ----------
    audit_lag_s
        Median of receipt minus audit stamp of the same bindings: how far the watch runs
        behind the API server; ``None`` where nothing was bound.
    """

    n: int
    percentiles: tuple[Percentile, ...]
    clock: str = CLOCK_NAME
    resolution_s: float = RESOLUTION_S
    audit_lag_s: float | None = None


def latency_of(samples_s: Sequence[float], audit_lag_s: float | None = None) -> Latency:
    """Return the percentiles of the samples; those with too small an n are empty."""
    return Latency(
        n=len(samples_s),
        percentiles=tuple(percentile(samples_s, rank) for rank in RANKS),
        audit_lag_s=audit_lag_s,
    )
