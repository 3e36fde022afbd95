"""A span of constant load while replicas come and go, and whether it keeps the SLA."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Interval

from stowage_testbed.hpa.model.web_service import SteadyState, WebService, steady_state

SLA_RANK = 0.99
_HALVINGS = 40
"""Steps that bring a quantile from the time-out's size to below a nanosecond."""


@dataclass(frozen=True, slots=True)
class Sla:
    """Limits of a window's p99 latency and of its share of errors."""

    p99_s: Annotated[float, Interval(gt=0)] = 1.0
    """Most that a window's p99 latency may be."""
    errors: Annotated[float, Interval(ge=0, le=1)] = 0.01
    """Largest share of errors in a window."""

    def kept(self, p99_s: float, errors: float) -> bool:
        """Return whether both limits hold."""
        return p99_s <= self.p99_s and errors <= self.errors


@dataclass(frozen=True, slots=True)
class Segment:
    """A time in which the number of ready replicas did not change."""

    duration_s: float
    ready: int


@dataclass(frozen=True, slots=True)
class LoadWindow:
    """What clients saw in one window, whose times are seconds from the start of the run on the receipt clock.

    ``p99_s`` is the 99th percentile of the requests that ended in it; an error counts with the time-out. ``errors`` is
    the share of them that timed out. ``ok`` is whether the SLA was kept.
    """

    start_s: float
    end_s: float
    clients: int
    requests: int
    p99_s: float
    errors: float
    ok: bool


def load_window(service: WebService, sla: Sla, clients: int, start_s: float, segments: Sequence[Segment]) -> LoadWindow:
    """Return what ``clients`` see over the segments, each a steady state; the percentile is of all requests."""
    spans_s: dict[int, float] = {}
    for segment in segments:
        spans_s[segment.ready] = spans_s.get(segment.ready, 0.0) + segment.duration_s
    states = [steady_state(service, clients, ready) for ready in spans_s]
    counts = [state.requests_per_s * span_s for state, span_s in zip(states, spans_s.values(), strict=True)]
    p99_s = _quantile(states, counts, SLA_RANK, service.timeout_s)
    total = math.fsum(counts)
    errors = _share(counts, [state.errors for state in states])
    return LoadWindow(
        start_s=start_s,
        end_s=start_s + math.fsum(spans_s.values()),
        clients=clients,
        requests=round(total),
        p99_s=p99_s,
        errors=errors,
        ok=sla.kept(p99_s, errors),
    )


def replicas_needed(service: WebService, sla: Sla, clients: int, most: int) -> int | None:
    """Return the fewest replicas, up to ``most``, that keep the SLA for ``clients``; ``None`` if none do."""
    for replicas in range(1, most + 1):
        if load_window(service, sla, clients, 0.0, [Segment(1.0, replicas)]).ok:
            return replicas
    return None


def _quantile(states: Sequence[SteadyState], counts: Sequence[float], rank: float, longest_s: float) -> float:
    """Return the latency that ``rank`` of all requests do not exceed, by bisection."""
    low_s, high_s = 0.0, longest_s
    for _ in range(_HALVINGS):
        middle_s = (low_s + high_s) / 2
        if _share(counts, [state.slower_than(middle_s) for state in states]) > 1 - rank:
            low_s = middle_s
        else:
            high_s = middle_s
    return high_s


def _share(counts: Sequence[float], shares: Sequence[float]) -> float:
    """Return the mean of shares, each weighted with its number of requests."""
    total = math.fsum(counts)
    if not total:
        return 0.0
    return math.fsum(n * s for n, s in zip(counts, shares, strict=True)) / total
