"""Empirical distribution of a latency, which ends below 1 where pods have none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from stowage_testbed.compare.curves.line import Line, thinned
from stowage_testbed.metrics.latency import Latencies, t_post, t_ready, t_sched
from stowage_testbed.metrics.record import RunRecord

LATENCIES: Mapping[str, Callable[[RunRecord], Latencies]] = {
    "t_sched": t_sched,
    "t_ready": t_ready,
    "t_post": t_post,
}

MEANINGS: Mapping[str, str] = {
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
