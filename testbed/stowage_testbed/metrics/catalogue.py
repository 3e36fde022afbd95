"""Every metric of a run, in one fixed order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.metrics.recovery import measure_hpa

Measure = Callable[[RunRecord], Iterable[Metric]]

_FIRST = (
    "latency",
    "throughput",
    "waiting",
    "distribution",
    "utilisation",
    "fragmentation",
    "placed",
    "inversions",
    "footprint",
    "clocks",
)
"""The subjects that tables begin with; a further one follows by its name."""


def _list_measures() -> Iterator[Measure]:
    """Yield the function `measure_SUBJECT` of each file SUBJECT that has one."""
    files = sorted(file.name for file in iter_modules([str(Path(__file__).parent)]))
    for name in dict.fromkeys((*_FIRST, *files)):
        file = import_module(f"{__package__}.{name}")
        if measure := getattr(file, f"measure_{name}", None):
            yield measure


_MEASURES = tuple(_list_measures())


def metrics_of(record: RunRecord) -> tuple[Metric, ...]:
    """Return the metrics of a run: for every record the same names in the same order.

    Where a service was overloaded, those of its recovery come last. A metric's name
    ends in its unit, unless it is a ratio or an index. A run that failed has no values,
    only its reason: half of a burst is not a faster burst.
    """
    of_recovery = measure_hpa(record.recovery) if record.recovery else ()
    of_pods = (metric for measure in _MEASURES for metric in measure(record))
    metrics = (*of_pods, *of_recovery)
    if not record.error:
        return metrics
    note = f"the run failed: {record.error}"
    return tuple(replace(metric, value=None, note=note) for metric in metrics)
