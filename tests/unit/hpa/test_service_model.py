"""The web service's model: fixed answers, its limits, and a simulation beside it."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import pytest

from stowage_testbed.hpa.model.load_window import (
    LoadWindow,
    Segment,
    Sla,
    load_window,
    replicas_needed,
)
from stowage_testbed.hpa.model.web_service import (
    ServiceTime,
    WebService,
    others,
    steady_state,
)

SERVICE = WebService()
"""php-apache of the second paper: 0.2 s a request that has its replica for itself."""
WARM_UP = 10
"""One in so many of the first requests is left out: the network starts empty."""


@dataclass(frozen=True)
class Simulated:
    """Latencies in seconds, sorted."""

    latencies_s: tuple[float, ...]

    @property
    def mean_s(self) -> float:
        return sum(self.latencies_s) / len(self.latencies_s)

    def quantile_s(self, rank: float) -> float:
        return self.latencies_s[int(rank * len(self.latencies_s))]


def simulate(
    clients: int, replicas: int, mean_s: float, stages: int, *, requests: int, seed: int
) -> Simulated:
    """Run a closed loop of clients, request by request, until so many have ended.

    Shares nothing with the model but its assumptions: replicas that share their rate
    equally among their requests, a replica picked at random for each request, and
    clients that send the next request as soon as they have an answer.
    """
    rng = random.Random(seed)  # noqa: S311 - a simulation, not a secret
    # A replica's own time runs as fast as each of its requests is served.
    own_s = [0.0] * replicas
    busy: list[list[tuple[float, float]]] = [[] for _ in range(replicas)]
    now_s = 0.0
    ended: list[float] = []

    def send() -> None:
        at = rng.randrange(replicas)
        work_s = rng.gammavariate(stages, mean_s / stages)
        busy[at].append((own_s[at] + work_s, now_s))

    for _ in range(clients):
        send()
    while len(ended) < requests:
        step_s, at = min(
            ((min(here)[0] - own_s[i]) * len(here), i)
            for i, here in enumerate(busy)
            if here
        )
        for i, here in enumerate(busy):
            if here:
                own_s[i] += step_s / len(here)
        now_s += step_s
        first = min(busy[at])
        busy[at].remove(first)
        ended.append(now_s - first[1])
        send()
    return Simulated(tuple(sorted(ended[requests // WARM_UP :])))


def window(clients: int, ready: int, service: WebService = SERVICE) -> LoadWindow:
    return load_window(service, Sla(), clients, 0.0, [Segment(30.0, ready)])


def test_an_exponential_time_has_the_known_percentile() -> None:
    """One stage: the share above t is exp(-t / mean)."""
    time = ServiceTime(0.2)

    assert time.longer_than(0.2) == pytest.approx(math.exp(-1))
    assert time.longer_than(0.2 * math.log(100)) == pytest.approx(0.01)


def test_many_stages_are_nearly_constant() -> None:
    """php-apache's loop is always the same length."""
    time = ServiceTime(0.2, stages=500)

    assert time.longer_than(0.16) > 0.99999
    assert time.longer_than(0.25) < 0.00001


@pytest.mark.parametrize(
    ("mean_s", "stages"), [(0.0, 1), (-1.0, 1), (0.2, 0), (0.2, 501)]
)
def test_a_time_that_cannot_be_is_refused(mean_s: float, stages: int) -> None:
    with pytest.raises(ValueError, match="above 0 s and 1 to 500 stages"):
        ServiceTime(mean_s, stages)


def test_two_others_on_two_replicas_spread_in_three_equal_ways() -> None:
    """Gordon and Newell: both here, one here, none here are equally probable."""
    assert others("random", 3, 2) == pytest.approx((1 / 3, 1 / 3, 1 / 3))


def test_on_one_replica_a_request_meets_all_others() -> None:
    assert others("random", 4, 1) == (0.0, 0.0, 0.0, 1.0)
    assert others("balanced", 4, 1) == (0.0, 0.0, 0.0, 1.0)


def test_balanced_replicas_differ_by_one_request() -> None:
    """Five on two replicas: three here and two there, and as many requests of each."""
    assert others("balanced", 5, 2) == (0.0, 0.5, 0.5)
    assert others("balanced", 4, 2) == (0.0, 1.0)
    assert others("balanced", 1, 2) == (1.0,)


def test_ten_clients_on_three_replicas_have_the_known_throughput() -> None:
    """It is r C / ((C + r - 1) S) requests a second, of 0.1 CPU seconds each."""
    state = steady_state(SERVICE, 10, 3)

    assert state.requests_per_s == pytest.approx(12.5)
    assert state.cpu_milli == 417


def test_one_replica_works_at_its_limit_however_many_clients_there_are() -> None:
    for clients in (1, 2, 50):
        assert steady_state(SERVICE, clients, 1).cpu_milli == SERVICE.limit_milli


def test_without_clients_nothing_is_used() -> None:
    assert steady_state(SERVICE, 0, 3).cpu_milli == 0


def test_without_ready_replicas_every_request_times_out() -> None:
    found = window(10, 0)

    assert (found.errors, found.p99_s, found.ok) == (1.0, SERVICE.timeout_s, False)
    assert steady_state(SERVICE, 10, 0).cpu_milli == 0


def test_one_client_never_queues() -> None:
    """Its percentile is the service time's own."""
    p99_s = window(1, 5).p99_s

    assert SERVICE.service_time.longer_than(p99_s) == pytest.approx(0.01)


def test_balanced_clients_do_not_queue_before_they_outnumber_the_replicas() -> None:
    service = WebService(routing="balanced")

    assert window(8, 8, service).p99_s == window(1, 8, service).p99_s
    assert window(9, 8, service).p99_s > window(1, 8, service).p99_s


def test_with_ever_more_replicas_only_the_service_time_is_left() -> None:
    alone_s = window(1, 1).p99_s

    assert window(10, 100_000).p99_s == pytest.approx(alone_s, rel=1e-3)


def test_a_time_out_is_an_error_and_the_longest_latency() -> None:
    service = WebService(timeout_s=0.5)
    found = window(10, 3, service)

    assert found.p99_s == 0.5
    assert found.errors > 0.5


def test_the_paper_s_load_breaks_its_sla_at_3_replicas_and_not_at_20() -> None:
    """Section 5.3.2: peaks of 1.8 to 2.6 s at first, and recovery once 20 are ready."""
    assert 1.8 < window(10, 3).p99_s < 2.7
    assert not window(10, 14).ok
    assert window(10, 20).ok
    assert replicas_needed(SERVICE, Sla(), 10, 20) == 17


def test_too_few_replicas_are_not_enough() -> None:
    assert replicas_needed(SERVICE, Sla(), 10, 16) is None


def test_a_window_is_the_mixture_of_its_requests() -> None:
    """A tenth of the time with 3 replicas decides the percentile of the whole."""
    parts = [Segment(3.0, 3), Segment(27.0, 20)]
    found = load_window(SERVICE, Sla(), 10, 100.0, parts)

    assert window(10, 20).p99_s < found.p99_s < window(10, 3).p99_s
    assert (found.start_s, found.end_s) == (100.0, 130.0)
    expected = 3 * 12.5 + 27 * steady_state(SERVICE, 10, 20).requests_per_s
    assert found.requests == round(expected)


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit_milli": 1500},
        {"request_milli": 600},
        {"request_milli": 0},
        {"cpu_s": 0.0},
        {"timeout_s": 0.0},
    ],
)
def test_a_service_that_the_model_does_not_cover_is_refused(
    wrong: dict[str, float],
) -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        WebService(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("stages", [1, 25])
@pytest.mark.parametrize(("clients", "replicas"), [(10, 3), (10, 20)])
def test_a_simulation_has_the_same_mean_and_no_longer_tail(
    stages: int, clients: int, replicas: int
) -> None:
    """The mean is exact; the tail errs on the slow side, by a fifth at most.

    The model keeps the number of others that a request meets for its whole stay.
    """
    service = WebService(stages=stages, timeout_s=60.0)
    mean_s = service.service_time.mean_s
    seen = simulate(clients, replicas, mean_s, stages, requests=20_000, seed=1)

    state = steady_state(service, clients, replicas)
    assert clients / state.requests_per_s == pytest.approx(seen.mean_s, rel=0.03)
    p99_s = window(clients, replicas, service).p99_s
    assert 0.95 < p99_s / seen.quantile_s(0.99) < 1.25
