"""Moments of pods from the stream of changes."""

from __future__ import annotations

from watched_pods import at, life, seen

from stowage_testbed.observe.change import Verb
from stowage_testbed.observe.receipt import NS_PER_S, ReceiptClock
from stowage_testbed.observe.timeline import (
    measure_bind_latencies_s,
    read_pod_timelines,
)


def test_latency_is_created_to_bound_on_the_receipt_clock() -> None:
    """Object timestamps have whole seconds and would say 0 or 1."""
    changes = [
        seen(1.0, Verb.ADDED, "a"),
        seen(1.25, Verb.MODIFIED, "a", node="n1"),
        seen(1.5, Verb.MODIFIED, "a", node="n1"),
    ]

    lines = read_pod_timelines(changes, "ns")

    assert measure_bind_latencies_s(lines) == [0.25]
    assert lines[0].node == "n1"


def test_a_pod_bound_in_its_first_sight_took_no_measurable_time() -> None:
    """Both moments are one receipt; the resolution printed beside it says so."""
    lines = read_pod_timelines([seen(1.0, Verb.ADDED, "a", node="n1")], "ns")

    assert measure_bind_latencies_s(lines) == [0.0]


def test_a_pod_that_was_listed_has_no_latency() -> None:
    """It was created before anyone watched; to guess would bend the percentiles."""
    changes = [seen(1.0, Verb.LISTED, "a"), seen(2.0, Verb.MODIFIED, "a", node="n1")]

    assert measure_bind_latencies_s(read_pod_timelines(changes, "ns")) == []


def test_other_namespaces_are_left_out() -> None:
    """The release's own pods are no part of the scenario."""
    assert read_pod_timelines([seen(1.0, Verb.ADDED, "a")], "elsewhere") == []


def test_a_step_of_the_wall_clock_does_not_bend_an_interval() -> None:
    """Wall time hangs on the monotonic clock, once."""
    monotonic = iter([100, 100 + NS_PER_S, 100 + 2 * NS_PER_S])
    wall = iter([5 * NS_PER_S, 1])
    clock = ReceiptClock(lambda: next(monotonic), lambda: next(wall))

    first, second = clock.now(), clock.now()

    assert second.seconds_since(first) == 1.0
    assert second.wall_ns - first.wall_ns == NS_PER_S


def test_readiness_is_the_first_moment_it_was_seen() -> None:
    """A pod that fails a probe and recovers is not ready for the first time again."""
    changes = [
        *life("a", 1.0, 2.0, 3.0),
        seen(4.0, Verb.MODIFIED, "a", node="n1", ready=False),
        seen(5.0, Verb.MODIFIED, "a", node="n1", ready=True),
    ]

    (line,) = read_pod_timelines(changes, "ns")

    assert line.ready == at(3.0)


def test_what_was_already_so_has_no_moment() -> None:
    """A pod first seen bound and ready was so for an unknown time."""
    changes = [
        seen(1.0, Verb.LISTED, "a", node="n1", ready=True),
        seen(2.0, Verb.MODIFIED, "a", node="n1", ready=True),
        seen(3.0, Verb.MODIFIED, "b", node="n1", ready=True),
    ]

    lines = read_pod_timelines(changes, "ns")

    assert [(line.node, line.bound, line.ready) for line in lines] == [
        ("n1", None, None),
        ("n1", None, None),
    ]


def test_a_pod_that_was_listed_waiting_is_seen_bound() -> None:
    """Its creation is unknown, its binding is not."""
    changes = [
        seen(1.0, Verb.LISTED, "a"),
        seen(2.0, Verb.MODIFIED, "a", node="n1"),
    ]

    (line,) = read_pod_timelines(changes, "ns")

    assert (line.created, line.bound) == (None, at(2.0))


def test_a_finished_pod_is_gone_before_it_is_deleted() -> None:
    """It claims no room from then on; the deletion of its object is housekeeping."""
    changes = [
        *life("a", 1.0, 2.0, 3.0),
        seen(4.0, Verb.MODIFIED, "a", node="n1", phase="Succeeded"),
        seen(9.0, Verb.DELETED, "a", node="n1", phase="Succeeded"),
    ]

    (line,) = read_pod_timelines(changes, "ns")

    assert (line.gone, line.deleted) == (at(4.0), at(9.0))
