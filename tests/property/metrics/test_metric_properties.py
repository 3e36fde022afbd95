"""What holds of the metrics of any run."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_records import a_node, a_record, pod_on

from stowage_testbed.metrics.catalogue import metrics_of
from stowage_testbed.metrics.distribution import (
    compute_spread,
    compute_top_share,
    jain_index,
)
from stowage_testbed.metrics.record import PodRecord, RunRecord

WINDOW_S = 10.0
RESOLUTION_S = 0.25

# Quarters are exact in binary, so that equal moments are equal.
moments = st.integers(0, 40).map(lambda quarter: quarter / 4)
some_load = st.lists(st.integers(0, 10**12), min_size=1, max_size=30).filter(any)


@st.composite
def lives(draw: st.DrawFn) -> PodRecord:
    """Return a pod with moments in their order, each of which may be missing."""
    created, bound, ready, gone = sorted(draw(st.tuples(*[moments] * 4)))
    before, placed = draw(st.booleans()), draw(st.booleans())
    bound_before = before and draw(st.booleans())
    return pod_on(
        draw(st.sampled_from("abc")) if placed else "",
        created=None if before else created,
        bound=bound if placed and not bound_before else None,
        ready=ready if placed and draw(st.booleans()) else None,
        gone=gone if draw(st.booleans()) else None,
        cpu=draw(st.sampled_from([0, 100, 900])),
        memory=draw(st.sampled_from([0, 10, 90])),
        priority=draw(st.integers(-1, 2)),
    )


@st.composite
def runs(draw: st.DrawFn) -> RunRecord:
    names = draw(st.sampled_from(["", "ab", "abc"]))
    pods = st.integers(1, 4)
    return a_record(
        draw(st.lists(lives(), max_size=12)),
        nodes=[a_node(name, cpu=1000, memory=100, pods=draw(pods)) for name in names],
        window_s=WINDOW_S,
        resolution_s=RESOLUTION_S,
    )


@given(some_load, st.integers(1, 10**6), st.integers(1, 10))
def test_jain_spread_and_skew_agree(values: list[int], factor: int, count: int) -> None:
    """Jain = 1 / (1 + CV^2): the paper prints both, so they must not disagree.

    The ends of Jain make it readable without knowing load or unit; skew has a floor.
    """
    index, share = jain_index(values), compute_top_share(values, count)
    cv = compute_spread(values)["cv"]
    assert index is not None
    assert cv is not None

    assert Fraction(1, len(values)) <= index <= 1
    assert float(index) == pytest.approx(1 / (1 + cv**2))
    assert jain_index([value * factor for value in values]) == index
    assert jain_index([factor] * count) == 1
    assert share is None or Fraction(count, len(values)) <= share <= 1


@given(runs())
def test_shares_are_shares(record: RunRecord) -> None:
    """Whatever came and went, nothing is below none or above all."""
    for metric in metrics_of(record):
        if metric.name.startswith(("stranded", "fragmented", "top5")):
            assert metric.value is None or 0 <= metric.value <= 1, metric


@given(runs(), st.randoms())
def test_nothing_depends_on_the_order_of_nodes_and_pods(
    record: RunRecord, rng: random.Random
) -> None:
    """A list from the API is sorted by name, which means nothing."""
    nodes, pods = list(record.nodes), list(record.pods)
    rng.shuffle(nodes)
    rng.shuffle(pods)
    shuffled = a_record(pods, nodes=nodes, window_s=WINDOW_S, resolution_s=RESOLUTION_S)

    for one, other in zip(metrics_of(record), metrics_of(shuffled), strict=True):
        # But for the order of a sum of floats.
        assert one.value == pytest.approx(other.value)
        assert (one.name, one.n, one.note) == (other.name, other.n, other.note)
