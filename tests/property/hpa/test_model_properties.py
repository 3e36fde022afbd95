"""The model's directions: what more clients and more replicas can and cannot do."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stowage_testbed.hpa.model.load_window import LoadWindow, Segment, Sla, load_window
from stowage_testbed.hpa.model.web_service import (
    Routing,
    WebService,
    others,
    steady_state,
)

clients = st.integers(1, 40)
replicas = st.integers(1, 40)
routings = st.sampled_from(get_args(Routing))
services = st.builds(
    WebService,
    cpu_s=st.floats(0.001, 1.0),
    limit_milli=st.integers(200, 1000),
    stages=st.integers(1, 30),
    timeout_s=st.floats(0.1, 30.0),
    routing=routings,
)

untimed = settings(deadline=None)

ROUNDING_S = 1e-6
"""What two percentiles may differ by that are the same number."""


def window(service: WebService, load: int, ready: int) -> LoadWindow:
    return load_window(service, Sla(), load, 0.0, [Segment(1.0, ready)])


@untimed
@given(routings, clients, replicas)
def test_the_others_are_a_distribution(routing: Routing, load: int, ready: int) -> None:
    met = others(routing, load, ready)

    assert sum(met) == pytest.approx(1.0)
    assert min(met) >= 0
    assert len(met) <= load


@untimed
@given(clients, replicas)
def test_random_routing_meets_the_mean_of_the_arrival_theorem(
    load: int, ready: int
) -> None:
    met = others("random", load, ready)

    mean = sum(count * share for count, share in enumerate(met))
    assert mean == pytest.approx((load - 1) / ready)


@untimed
@given(services, clients, replicas)
def test_more_clients_never_make_it_faster(
    service: WebService, load: int, ready: int
) -> None:
    before, after = window(service, load, ready), window(service, load + 1, ready)

    assert after.p99_s >= before.p99_s - ROUNDING_S
    assert after.errors >= before.errors - ROUNDING_S


@untimed
@given(services, clients, replicas)
def test_more_replicas_never_make_it_slower(
    service: WebService, load: int, ready: int
) -> None:
    before, after = window(service, load, ready), window(service, load, ready + 1)

    assert after.p99_s <= before.p99_s + ROUNDING_S
    assert after.errors <= before.errors + ROUNDING_S


@untimed
@given(services, clients, replicas)
def test_no_replica_works_beyond_its_limit_and_all_together_do_the_work(
    service: WebService, load: int, ready: int
) -> None:
    state = steady_state(service, load, ready)

    assert state.requests_per_s > 0
    assert state.cpu_milli <= service.limit_milli
    used = state.requests_per_s * service.cpu_s * 1000
    assert used == pytest.approx(ready * state.cpu_milli, abs=ready)


@untimed
@given(services, clients, st.lists(replicas, min_size=1, max_size=5))
def test_a_window_lies_between_its_best_and_its_worst_segment(
    service: WebService, load: int, counts: list[int]
) -> None:
    parts = [Segment(1.0, ready) for ready in counts]
    whole = load_window(service, Sla(), load, 0.0, parts)
    alone = [window(service, load, ready).p99_s for ready in counts]

    assert min(alone) - ROUNDING_S <= whole.p99_s <= max(alone) + ROUNDING_S


@untimed
@given(services, clients, st.lists(replicas, min_size=1, max_size=5))
def test_the_order_and_the_cutting_of_segments_do_not_matter(
    service: WebService, load: int, counts: list[int]
) -> None:
    parts = [Segment(2.0, ready) for ready in counts]
    halves = [Segment(1.0, ready) for ready in [*counts, *reversed(counts)]]
    one = load_window(service, Sla(), load, 0.0, parts)
    other = load_window(service, Sla(), load, 0.0, halves)

    assert other.p99_s == pytest.approx(one.p99_s)
    assert other.requests == one.requests
