"""What holds of the metrics of any run."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_records import a_node, a_record, by_name, pod_on

from stowage_testbed.metrics.catalogue import metrics_of
from stowage_testbed.metrics.latency import measure_t_sched
from stowage_testbed.metrics.record import PodRecord, RunRecord

WINDOW_S = 10.0
RESOLUTION_S = 0.25

# Quarters are exact in binary, so that equal moments are equal.
moments = st.integers(0, 40).map(lambda quarter: quarter / 4)


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


@st.composite
def closed_runs(draw: st.DrawFn) -> RunRecord:
    """Return a run in which all came and was bound inside the window."""
    spans = draw(st.lists(st.tuples(moments, moments), min_size=1, max_size=60))
    pods = [pod_on("a", created=min(span), bound=max(span)) for span in spans]
    return a_record(pods, window_s=WINDOW_S)


@given(closed_runs())
def test_littles_law_holds_for_a_closed_window(record: RunRecord) -> None:
    """L = lambda W: the queue's average comes from counting, the wait from the pods.

    J. Little, "A Proof for the Queuing Formula L = lambda W", 1961. The moments are
    quarters, so that both sides are exact.
    """
    average = by_name(record)["waiting_mean_pods"].value
    assert average is not None
    assert average * record.window_s == sum(measure_t_sched(record).samples_s)


@given(runs())
def test_shares_are_shares_and_a_gap_has_its_reason(record: RunRecord) -> None:
    """Whatever came and went, nothing is below none or above all."""
    for metric in metrics_of(record):
        assert metric.value is not None or metric.note
        if metric.name.startswith(("stranded", "fragmented", "top5")):
            assert metric.value is None or 0 <= metric.value <= 1, metric


@given(runs(), st.randoms())
def test_nothing_depends_on_the_order_of_nodes_and_pods(record: RunRecord, rng: random.Random) -> None:
    """A list from the API is sorted by name, which means nothing."""
    nodes, pods = list(record.nodes), list(record.pods)
    rng.shuffle(nodes)
    rng.shuffle(pods)
    shuffled = a_record(pods, nodes=nodes, window_s=WINDOW_S, resolution_s=RESOLUTION_S)

    for one, other in zip(metrics_of(record), metrics_of(shuffled), strict=True):
        # But for the order of a sum of floats.
        assert one.value == pytest.approx(other.value)
        assert (one.name, one.n, one.note) == (other.name, other.n, other.note)
