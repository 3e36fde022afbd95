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


def measure_hpa(record: HpaRecord) -> Iterator[Metric]:
    """Yield the metrics of a run, the same names in the same order for every run.

    Without a value is what did not happen; the note says why.
    """
    settings, windows, n = record.settings, record.hold, len(record.hold)
    outcome, start_s = record.recovery.outcome, record.hold_start_s
    reasons = {
        "recovered": "",
        "no_degradation": "the service never degraded",
        "no_recovery_within_hold": f"not within {windows[-1].end_s - start_s:g} s (right-censored)",
    }
    recovered = outcome == "recovered"
    ttr_s = record.recovery.ttr_s if recovered else None
    yield Metric("ttr_s", ttr_s, "s", "lower", n, settings.hold.window_s, reasons[outcome])
    yield Metric("recovered_runs", float(recovered), "runs", "higher", n, 1.0, outcome)

    # When enough replicas were ready: TTR is a multiple of the window, and this the same moment without its rounding.
    needed = replicas_needed(settings.service, settings.sla, record.clients, settings.autoscaling.max_replicas)
    at_s, note = None, "not even the most replicas keep the SLA"
    if needed is not None:
        at_s, note = (
            _find_first(record.pods, lambda count: count.ready >= needed),
            f"{needed} ready replicas are needed",
        )
    capacity_s = None if at_s is None else max(at_s - start_s, 0.0)
    yield Metric("t_capacity_s", capacity_s, "s", "lower", len(record.pods), RESOLUTION_S, note)

    whole = settings.hold.whole or not recovered
    note = "" if whole else CUT_SHORT
    mean_s = fmean(window.p99_s for window in windows) if whole else None
    kept = sum(window.ok for window in windows) / n if whole else None
    yield Metric("p99_peak_s", max(window.p99_s for window in windows), "s", "lower", n)
    yield Metric("p99_mean_s", mean_s, "s", "lower", n, note=note)
    yield Metric("ok_rate", kept, "", "higher", n, note=note)
    yield Metric("hold_clients", record.clients, "clients", "neither", len(record.find))

    # When the autoscaler acted, in seconds of the run as in section 5.3.2.
    first, most = settings.autoscaling.min_replicas, settings.autoscaling.max_replicas
    moments = {
        "t_scale_up_s": _find_first(record.replicas, lambda seen: seen.desired > first),
        "t_desired_most_s": _find_first(record.replicas, lambda seen: seen.desired >= most),
        "t_ready_most_s": _find_first(record.pods, lambda count: count.ready >= most),
    }
    for name, moment_s in moments.items():
        note = "" if moment_s is not None else "did not happen"
        yield Metric(name, moment_s, "s", "lower", len(record.replicas), RESOLUTION_S, note)


def _find_first(line: Iterable[P], holds: Callable[[P], bool]) -> float | None:
    return next((point.at_s for point in line if holds(point)), None)
