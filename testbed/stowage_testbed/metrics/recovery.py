"""The numbers of a recovery run (second paper, sections 5.2.2 and 5.3.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from statistics import fmean
from typing import Protocol, TypeVar

from stowage_testbed.hpa.model.load_window import replicas_needed
from stowage_testbed.hpa.record import HpaRecord
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.observe.receipt import RESOLUTION_S


class _Point(Protocol):
    @property
    def at_s(self) -> float: ...


P = TypeVar("P", bound=_Point)

CUT_SHORT = "HOLD was ended at the first recovery"


def measure_hpa(record: HpaRecord) -> tuple[Metric, ...]:
    """Return the metrics of a run, the same names in the same order for every run.

    Without a value is what did not happen; the note says why.
    """
    return (*_measure_recovery(record), *_measure_quality(record), *_measure_scaling(record))


def _measure_recovery(record: HpaRecord) -> Iterator[Metric]:
    outcome, ttr_s = record.recovery.outcome, record.recovery.ttr_s
    window_s = record.settings.hold.window_s
    held_s = record.hold[-1].end_s - record.hold_start_s
    reasons = {
        "recovered": "",
        "no_degradation": "the service never degraded",
        "no_recovery_within_hold": f"not within {held_s:g} s (right-censored)",
    }
    value = ttr_s if outcome == "recovered" else None
    n = len(record.hold)
    yield Metric("ttr_s", value, "s", "lower", n, window_s, reasons[outcome])
    recovered = float(outcome == "recovered")
    yield Metric("recovered_runs", recovered, "runs", "higher", n, 1.0, outcome)
    yield _measure_capacity(record)


def _measure_capacity(record: HpaRecord) -> Metric:
    """Return when enough replicas were ready, to the receipt's resolution.

    TTR is a multiple of the window; this is the same moment without its rounding.
    """
    settings, start_s = record.settings, record.hold_start_s
    needed = replicas_needed(settings.service, settings.sla, record.clients, settings.autoscaling.max_replicas)
    value, note = None, f"{needed} ready replicas are needed"
    if needed is None:
        note = "not even the most replicas keep the SLA"
    else:
        at_s = _find_first(record.pods, lambda count: count.ready >= needed)
        value = None if at_s is None else max(at_s - start_s, 0.0)
    n = len(record.pods)
    return Metric("t_capacity_s", value, "s", "lower", n, RESOLUTION_S, note)


def _measure_quality(record: HpaRecord) -> Iterator[Metric]:
    windows, n = record.hold, len(record.hold)
    whole = record.settings.hold.whole or record.recovery.outcome != "recovered"
    note = "" if whole else CUT_SHORT
    peak_s = max(window.p99_s for window in windows)
    mean_s = fmean(window.p99_s for window in windows)
    kept = sum(window.ok for window in windows) / n
    yield Metric("p99_peak_s", peak_s, "s", "lower", n)
    yield Metric("p99_mean_s", mean_s if whole else None, "s", "lower", n, note=note)
    yield Metric("ok_rate", kept if whole else None, "", "higher", n, note=note)
    yield Metric("hold_clients", record.clients, "clients", "neither", len(record.find))


def _measure_scaling(record: HpaRecord) -> Iterator[Metric]:
    """Yield when the autoscaler acted, in seconds of the run as in section 5.3.2."""
    scaling = record.settings.autoscaling
    first, most = scaling.min_replicas, scaling.max_replicas
    moments = {
        "t_scale_up_s": _find_first(record.replicas, lambda seen: seen.desired > first),
        "t_desired_most_s": _find_first(record.replicas, lambda seen: seen.desired >= most),
        "t_ready_most_s": _find_first(record.pods, lambda count: count.ready >= most),
    }
    for name, at_s in moments.items():
        note = "" if at_s is not None else "did not happen"
        n = len(record.replicas)
        yield Metric(name, at_s, "s", "lower", n, RESOLUTION_S, note)


def _find_first(line: Iterable[P], holds: Callable[[P], bool]) -> float | None:
    return next((point.at_s for point in line if holds(point)), None)
