"""Whether two clocks agree: the receipt of an event, and its stamp in the audit log.

Whatever is watched comes a moment after it happened. A lag that is the same for every
event moves all moments and no latency; a lag that changes bends the latencies. So the
clocks agree on an event if its lag is near the median lag of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from stowage_testbed.observe.receipt import NS_PER_S, RESOLUTION_S
from stowage_testbed.observe.timeline import PodTimeline

TOLERANCE_S = 0.005
"""How far from the median a lag may be for the clocks to agree."""

TENTHS = 10


@dataclass(frozen=True, slots=True)
class Agreement:
    """What the events that both clocks saw say of the watch.

    Attributes
    ----------
    median_lag_s
        Receipt minus audit stamp; ``None`` where nothing was in both.
    beyond
        Events on which the clocks disagree.
    resolution_s
        What two latencies must differ by to differ at all.
    """

    events: int
    median_lag_s: float | None
    beyond: int
    resolution_s: float


def summarise_lags(lags_s: Sequence[float]) -> Agreement:
    """Sum the lags of a run's events up."""
    middle_s = median(lags_s) if lags_s else None
    return Agreement(
        events=len(lags_s),
        median_lag_s=middle_s,
        beyond=sum(middle_s is not None and abs(lag_s - middle_s) > TOLERANCE_S for lag_s in lags_s),
        resolution_s=max(RESOLUTION_S, measure_spread_s(lags_s)),
    )


def measure_binding_lags_s(timelines: Iterable[PodTimeline], stamps_ns: Mapping[str, int]) -> list[float]:
    """Return receipt minus audit stamp of every binding that both saw, in seconds."""
    return [
        (line.bound.wall_ns - stamps_ns[key]) / NS_PER_S
        for line in timelines
        if line.bound and (key := f"{line.namespace}/{line.name}") in stamps_ns
    ]


def measure_spread_s(lags_s: Sequence[float]) -> float:
    """Return the range of the middle eight tenths; of everything if that is little."""
    if not lags_s:
        return 0.0
    if len(lags_s) < TENTHS:
        return max(lags_s) - min(lags_s)
    cuts = quantiles(lags_s, n=TENTHS)
    return cuts[-1] - cuts[0]
