"""Moments of pods from the stream of changes."""

from __future__ import annotations

from watch_server import a_pod

from testbed.observe.change import Change, Verb
from testbed.observe.receipt import NS_PER_S, Receipt, ReceiptClock
from testbed.observe.timeline import bind_latencies_s, pod_timelines


def at(second: float, verb: Verb, name: str, node: str = "") -> Change:
    moment = int(second * NS_PER_S)
    return Change("Pod", verb, Receipt(moment, moment), a_pod(name, node=node))


def test_latency_is_created_to_bound_on_the_receipt_clock() -> None:
    """Object timestamps have whole seconds and would say 0 or 1."""
    changes = [
        at(1.0, Verb.ADDED, "a"),
        at(1.25, Verb.MODIFIED, "a", "n1"),
        at(1.5, Verb.MODIFIED, "a", "n1"),
    ]

    lines = pod_timelines(changes, "ns")

    assert bind_latencies_s(lines) == [0.25]
    assert lines[0].node == "n1"


def test_a_pod_bound_in_its_first_sight_took_no_measurable_time() -> None:
    """Both moments are one receipt; the resolution printed beside it says so."""
    lines = pod_timelines([at(1.0, Verb.ADDED, "a", "n1")], "ns")

    assert bind_latencies_s(lines) == [0.0]


def test_a_pod_that_was_listed_has_no_latency() -> None:
    """It was created before anyone watched; to guess would bend the percentiles."""
    changes = [at(1.0, Verb.LISTED, "a"), at(2.0, Verb.MODIFIED, "a", "n1")]

    assert bind_latencies_s(pod_timelines(changes, "ns")) == []


def test_other_namespaces_are_left_out() -> None:
    """The release's own pods are no part of the scenario."""
    assert pod_timelines([at(1.0, Verb.ADDED, "a")], "elsewhere") == []


def test_a_step_of_the_wall_clock_does_not_bend_an_interval() -> None:
    """Wall time hangs on the monotonic clock, once."""
    monotonic = iter([100, 100 + NS_PER_S, 100 + 2 * NS_PER_S])
    wall = iter([5 * NS_PER_S, 1])
    clock = ReceiptClock(lambda: next(monotonic), lambda: next(wall))

    first, second = clock.now(), clock.now()

    assert second.seconds_since(first) == 1.0
    assert second.wall_ns - first.wall_ns == NS_PER_S
