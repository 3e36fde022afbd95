"""A web service in numbers: clients and replicas in, latency and CPU out. README.md has the assumptions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Literal

from annotated_types import Interval

MOST_STAGES = 500  # They vary by 4 percent; more would change nothing

MILLI = 1000

Routing = Literal["random", "balanced"]
"""``random``: any replica with equal chance, as kube-proxy picks one.
``balanced``: the replicas' loads differ by one request at most."""


@dataclass(frozen=True, slots=True)
class WebService:
    """What a request costs, and what a replica may use.

    The defaults are php-apache's of the second paper (section 5.2.2): 200m requested and 500m at most, with a request
    that takes 0.2 s of a replica it has for itself. A request is served by one thread, so that a limit above 1000m
    would not make it faster. Its time has an Erlang distribution, the sum of equal exponential times.
    """

    cpu_s: Annotated[float, Interval(gt=0)] = 0.1
    """CPU seconds of a mean request."""
    request_milli: Annotated[int, Interval(ge=1, le=MILLI)] = 200
    """CPU that a replica's pod asks for, in thousandths of a core."""
    limit_milli: Annotated[int, Interval(ge=1, le=MILLI)] = 500
    """CPU that a replica may use, in thousandths of a core."""
    stages: Annotated[int, Interval(ge=1, le=MOST_STAGES)] = 25
    """Stages of the service time's Erlang distribution; the more, the more constant it is."""
    timeout_s: Annotated[float, Interval(gt=0)] = 3.0
    """When a client gives up, which is an error."""
    routing: Routing = "random"
    """Whether each request goes to any replica by chance, or loads differ by one at most."""

    def __post_init__(self) -> None:
        if self.request_milli > self.limit_milli:
            raise ValueError(f"requests of {self.request_milli}m must not be above the limits of {self.limit_milli}m")

    @property
    def mean_s(self) -> float:
        """The mean time of a request that has its replica for itself."""
        return self.cpu_s * MILLI / self.limit_milli

    def alone_slower_than(self, limit_s: float) -> float:
        """Return the share of such requests that take longer than ``limit_s``."""
        from scipy.special import gammaincc  # noqa: PLC0415 - every command loads this file, and few load a service

        return float(gammaincc(self.stages, self.stages * limit_s / self.mean_s))


@dataclass(frozen=True, slots=True)
class SteadyState:
    """What clients get from ready replicas: ``met`` is the probability that a request meets 0, 1, 2, ... others."""

    service: WebService
    met: tuple[float, ...]
    requests_per_s: float
    cpu_milli: int

    def slower_than(self, limit_s: float) -> float:
        """Return the share of requests that take longer than ``limit_s``, which is the time-out at most."""
        if not self.met:
            return 1.0
        slower = self.service.alone_slower_than
        return math.fsum(probability * slower(limit_s / (count + 1)) for count, probability in enumerate(self.met))

    @property
    def errors(self) -> float:
        """The share of requests that reach the time-out."""
        return self.slower_than(self.service.timeout_s)


@lru_cache(maxsize=4096)
def steady_state(service: WebService, clients: int, replicas: int) -> SteadyState:
    """Return the steady state of ``clients`` on ``replicas``, both 0 or more."""
    if clients == 0:
        return SteadyState(service, (), 0.0, 0)
    if replicas == 0:
        return SteadyState(service, (), clients / service.timeout_s, 0)
    met = others(service.routing, clients, replicas)
    sharing = math.fsum((n + 1) * probability for n, probability in enumerate(met))
    # Little's law for a closed loop without thinking: clients = throughput x latency.
    requests_per_s = clients / (sharing * service.mean_s)
    cpu_milli = requests_per_s * service.cpu_s * MILLI / replicas
    return SteadyState(service, met, requests_per_s, round(cpu_milli))


def others(routing: Routing, clients: int, replicas: int) -> tuple[float, ...]:
    """Return the probability that a request meets 0, 1, 2, ... others on its replica."""
    if routing == "balanced":
        # A request is one of a crowded replica as often as a busy replica is a crowded one.
        share, crowded = divmod(clients, replicas)
        if not share:
            return (1.0,)
        ends = (1 - crowded / replicas, crowded / replicas) if crowded else (1.0,)
        return (*[0.0] * (share - 1), *ends)
    # All ways to spread the other requests are equally probable (Gordon and Newell), and a request sees the network
    # as it would be without itself (arrival theorem): the chance of `n` or more others is a ratio of binomial
    # coefficients, here as the product of its factors.
    rest = clients - 1
    at_least = [1.0]
    for n in range(rest):
        at_least.append(at_least[-1] * (rest - n) / (rest - n + replicas - 1))
    return tuple(more - most for more, most in pairwise((*at_least, 0.0)))


SLA_RANK = 0.99
_HALVINGS = 40  # Steps that bring a quantile from the time-out's size to below a nanosecond


@dataclass(frozen=True, slots=True)
class Sla:
    """Limits of a window's p99 latency and of its share of errors."""

    p99_s: Annotated[float, Interval(gt=0)] = 1.0
    """Most that a window's p99 latency may be."""
    errors: Annotated[float, Interval(ge=0, le=1)] = 0.01
    """Largest share of errors in a window."""


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
        ok=p99_s <= sla.p99_s and errors <= sla.errors,
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
