"""Every metric of a run, in one fixed order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from stowage_testbed.metrics.clocks import clock_metrics
from stowage_testbed.metrics.distribution import distribution_metrics
from stowage_testbed.metrics.footprint import footprint_metrics
from stowage_testbed.metrics.fragmentation import fragmentation_metrics
from stowage_testbed.metrics.inversions import inversion_metrics
from stowage_testbed.metrics.latency import latency_metrics
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.placed import placed_metrics
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.metrics.recovery import hpa_metrics
from stowage_testbed.metrics.throughput import throughput_metrics
from stowage_testbed.metrics.utilisation import utilisation_metrics
from stowage_testbed.metrics.waiting import waiting_metrics

_PARTS: tuple[Callable[[RunRecord], Iterable[Metric]], ...] = (
    latency_metrics,
    throughput_metrics,
    waiting_metrics,
    distribution_metrics,
    utilisation_metrics,
    fragmentation_metrics,
    placed_metrics,
    inversion_metrics,
    footprint_metrics,
    clock_metrics,
)


def metrics_of(record: RunRecord) -> tuple[Metric, ...]:
    """Return the metrics of a run: for every record the same names in the same order.

    Where a service was overloaded, those of its recovery come last. A metric's name
    ends in its unit, unless it is a ratio or an index. A run that failed has no values,
    only its reason: half of a burst is not a faster burst.
    """
    of_recovery = hpa_metrics(record.recovery) if record.recovery else ()
    of_pods = (metric for part in _PARTS for metric in part(record))
    metrics = (*of_pods, *of_recovery)
    if not record.error:
        return metrics
    note = f"the run failed: {record.error}"
    return tuple(replace(metric, value=None, note=note) for metric in metrics)
