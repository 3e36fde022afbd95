"""The web service's model: fixed answers, and its limits."""

import math

import pytest

from stowage_testbed.hpa.model import (
    LoadWindow,
    Routing,
    Segment,
    Sla,
    WebService,
    load_window,
    others,
    replicas_needed,
    steady_state,
)

SERVICE = WebService()
"""php-apache of the second paper: 0.2 s a request that has its replica for itself."""


def window(clients: int, ready: int, service: WebService = SERVICE) -> LoadWindow:
    return load_window(service, Sla(), clients, 0.0, [Segment(30.0, ready)])


def test_a_service_time_has_the_known_percentiles() -> None:
    """One stage: the share above t is exp(-t / mean); many are nearly constant."""
    one, many = WebService(stages=1), WebService(stages=500)

    assert one.alone_slower_than(0.2) == pytest.approx(math.exp(-1))
    assert one.alone_slower_than(0.2 * math.log(100)) == pytest.approx(0.01)
    assert many.alone_slower_than(0.16) > 0.99999
    assert many.alone_slower_than(0.25) < 0.00001


@pytest.mark.parametrize(
    ("routing", "clients", "replicas", "met"),
    [
        # Gordon and Newell: both here, one here, none here are equally probable.
        ("random", 3, 2, (1 / 3, 1 / 3, 1 / 3)),
        ("random", 4, 1, (0.0, 0.0, 0.0, 1.0)),
        ("balanced", 4, 1, (0.0, 0.0, 0.0, 1.0)),
        # Three here and two there, and as many requests of each.
        ("balanced", 5, 2, (0.0, 0.5, 0.5)),
        ("balanced", 4, 2, (0.0, 1.0)),
        ("balanced", 1, 2, (1.0,)),
    ],
)
def test_a_request_meets_as_many_others_as_is_known(
    routing: Routing, clients: int, replicas: int, met: tuple[float, ...]
) -> None:
    """The whole queueing is in it."""
    assert others(routing, clients, replicas) == pytest.approx(met)


@pytest.mark.parametrize(
    ("clients", "replicas", "cpu_milli"), [(10, 3, 417), (1, 1, 500), (2, 1, 500), (50, 1, 500), (0, 3, 0), (10, 0, 0)]
)
def test_replicas_use_what_their_clients_make_them(clients: int, replicas: int, cpu_milli: int) -> None:
    """At most their limit: r C / ((C + r - 1) S) requests, of 0.1 CPU seconds each."""
    assert steady_state(SERVICE, clients, replicas).cpu_milli == cpu_milli
    assert steady_state(SERVICE, 10, 3).requests_per_s == pytest.approx(12.5)


def test_without_ready_replicas_every_request_times_out() -> None:
    """A time-out is an error and the longest latency."""
    none, short = window(10, 0), window(10, 3, WebService(timeout_s=0.5))

    assert (none.errors, none.p99_s, none.ok) == (1.0, SERVICE.timeout_s, False)
    assert short.p99_s == 0.5
    assert short.errors > 0.5


def test_who_has_a_replica_alone_never_queues() -> None:
    """Its percentile is the service time's own."""
    balanced = WebService(routing="balanced")
    alone_s = window(1, 5).p99_s

    assert SERVICE.alone_slower_than(alone_s) == pytest.approx(0.01)
    assert window(10, 100_000).p99_s == pytest.approx(window(1, 1).p99_s, rel=1e-3)
    assert window(8, 8, balanced).p99_s == window(1, 8, balanced).p99_s
    assert window(9, 8, balanced).p99_s > window(1, 8, balanced).p99_s


def test_the_paper_s_load_breaks_its_sla_at_3_replicas_and_not_at_20() -> None:
    """Section 5.3.2: peaks of 1.8 to 2.6 s at first, and recovery once 20 are ready."""
    assert 1.8 < window(10, 3).p99_s < 2.7
    assert [window(10, ready).ok for ready in (14, 20)] == [False, True]
    assert [replicas_needed(SERVICE, Sla(), 10, most) for most in (16, 20)] == [None, 17]


def test_a_window_is_the_mixture_of_its_requests() -> None:
    """A tenth of the time with 3 replicas decides the percentile of the whole."""
    parts = [Segment(1.0, 3), Segment(27.0, 20), Segment(2.0, 3)]
    found = load_window(SERVICE, Sla(), 10, 100.0, parts)

    assert window(10, 20).p99_s < found.p99_s < window(10, 3).p99_s
    assert (found.start_s, found.end_s) == (100.0, 130.0)
    expected = 3 * 12.5 + 27 * steady_state(SERVICE, 10, 20).requests_per_s
    assert found.requests == round(expected)
    gone = load_window(SERVICE, Sla(), 10, 0.0, [Segment(3.0, 0), Segment(30.0, 100)])
    kept = 30 * steady_state(SERVICE, 10, 100).requests_per_s
    assert gone.errors == pytest.approx(10 / (10 + kept), rel=1e-3)


def test_a_service_that_asks_for_more_than_it_may_use_is_refused() -> None:
    """Its answers would be wrong without a word."""
    with pytest.raises(ValueError, match="must not be above the limits of 500m"):
        WebService(request_milli=600)
