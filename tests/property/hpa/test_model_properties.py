"""The model's directions: what more clients and more replicas can and cannot do."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stowage_testbed.hpa.model.load_window import LoadWindow, Segment, Sla, load_window
from stowage_testbed.hpa.model.web_service import Routing, WebService, others, steady_state

counts = st.integers(1, 40)
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


def window(service: WebService, load: int, *ready: int, each_s: float = 1.0) -> LoadWindow:
    """Return the window of a load on so many replicas, one segment after the other."""
    return load_window(service, Sla(), load, 0.0, [Segment(each_s, n) for n in ready])


@untimed
@given(routings, counts, counts)
def test_the_others_are_a_distribution(routing: Routing, load: int, ready: int) -> None:
    """Random routing meets the mean of the arrival theorem."""
    met = others(routing, load, ready)

    assert sum(met) == pytest.approx(1.0)
    assert min(met) >= 0
    assert len(met) <= load
    drawn = enumerate(others("random", load, ready))
    mean = sum(count * share for count, share in drawn)
    assert mean == pytest.approx((load - 1) / ready)


@untimed
@given(services, counts, counts)
def test_more_clients_never_make_it_faster_nor_more_replicas_slower(service: WebService, load: int, ready: int) -> None:
    """Whoever tunes an autoscaler expects that."""
    now = window(service, load, ready)
    loaded, grown = window(service, load + 1, ready), window(service, load, ready + 1)

    assert grown.p99_s - ROUNDING_S <= now.p99_s <= loaded.p99_s + ROUNDING_S
    assert grown.errors - ROUNDING_S <= now.errors <= loaded.errors + ROUNDING_S


@untimed
@given(services, counts, counts)
def test_no_replica_works_beyond_its_limit_and_all_together_do_the_work(
    service: WebService, load: int, ready: int
) -> None:
    """What is used is what the requests cost."""
    state = steady_state(service, load, ready)

    assert state.requests_per_s > 0
    assert state.cpu_milli <= service.limit_milli
    used = state.requests_per_s * service.cpu_s * 1000
    assert used == pytest.approx(ready * state.cpu_milli, abs=ready)


@untimed
@given(services, counts, st.lists(counts, min_size=1, max_size=5))
def test_a_window_lies_between_its_best_and_its_worst_segment(service: WebService, load: int, ready: list[int]) -> None:
    """The order and the cutting of segments do not matter."""
    whole = window(service, load, *ready, each_s=2.0)
    halves = window(service, load, *ready, *reversed(ready))
    alone = [window(service, load, one).p99_s for one in ready]

    assert min(alone) - ROUNDING_S <= whole.p99_s <= max(alone) + ROUNDING_S
    assert halves.p99_s == pytest.approx(whole.p99_s)
    assert halves.requests == whole.requests
