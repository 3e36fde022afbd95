"""Moments of pods, from the stream of changes and on the clock of the API server."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from watched_pods import NAMESPACE, at, life, logged, seen

from stowage_testbed.observe.answers import Answered, read_answers
from stowage_testbed.observe.audit import AuditEntry
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.receipt import NS_PER_S, Receipt, ReceiptClock
from stowage_testbed.observe.timeline import (
    measure_bind_latencies_s,
    read_pod_timelines,
)


@pytest.mark.parametrize(
    ("changes", "latencies_s"),
    [
        # Object timestamps have whole seconds and would say 0 or 1.
        (
            [
                seen(1.0, Verb.ADDED, "a"),
                seen(1.25, Verb.MODIFIED, "a", node="n1"),
                seen(1.5, Verb.MODIFIED, "a", node="n1"),
            ],
            [0.25],
        ),
        # Both moments are one receipt; the resolution printed beside it says so.
        ([seen(1.0, Verb.ADDED, "a", node="n1")], [0.0]),
        # It was created before anyone watched; to guess would bend the percentiles.
        ([seen(1.0, Verb.LISTED, "a"), seen(2.0, Verb.MODIFIED, "a", node="n1")], []),
    ],
)
def test_latency_is_created_to_bound_on_the_receipt_clock(
    changes: list[Change], latencies_s: list[float]
) -> None:
    """Each for the reason above it."""
    (line,) = read_pod_timelines(changes, "ns")

    assert measure_bind_latencies_s([line]) == latencies_s
    assert line.node == "n1"


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


@pytest.mark.parametrize(
    ("changes", "moments"),
    [
        # A pod that recovers is not ready for the first time again. Once it has
        # finished it claims no room; the deletion of its object is housekeeping.
        (
            [
                *life("a", 1.0, 2.0, 3.0),
                seen(4.0, Verb.MODIFIED, "a", node="n1", ready=False),
                seen(5.0, Verb.MODIFIED, "a", node="n1", ready=True),
                seen(6.0, Verb.MODIFIED, "a", node="n1", phase="Succeeded"),
                seen(9.0, Verb.DELETED, "a", node="n1", phase="Succeeded"),
            ],
            (at(1.0), at(2.0), at(3.0), at(6.0), at(9.0)),
        ),
        # Its creation is unknown, its binding is not.
        (
            [seen(1.0, Verb.LISTED, "a"), seen(2.0, Verb.MODIFIED, "a", node="n1")],
            (None, at(2.0), None, None, None),
        ),
    ],
)
def test_a_moment_is_the_first_at_which_it_was_seen(
    changes: list[Change], moments: tuple[Receipt | None, ...]
) -> None:
    """Each for the reason above it."""
    (line,) = read_pod_timelines(changes, "ns")

    assert (line.created, line.bound, line.ready, line.gone, line.deleted) == moments


def answered(changes: Sequence[Change], entries: Sequence[AuditEntry]) -> Answered:
    """Return the pods that the watch received so, as the log has them."""
    return read_answers(read_pod_timelines(changes, NAMESPACE), entries)


def test_an_answer_that_comes_late_is_no_later_than_that_to_a_later_change() -> None:
    """A binding is written after the creation: when it is answered, both had happened.

    A latency below zero would be the worst of all answers.
    """
    created = logged(100.9, name="a", took=0.4)
    found = answered(
        life("a", 101, 101.2, 103), [created, logged(100.8, "binding", "a", took=0.1)]
    )

    (line,) = found.timelines
    assert (line.created, line.bound) == (at(100.8), at(100.8))
    assert found.late_s == pytest.approx(0.1, rel=0.5)
    # Yet no change is before it is asked for: a stamp may be wrong.
    created = logged(100.9, name="a", took=0.1)
    found = answered(life("a", 101, 102, 103), [created, logged(50, "binding", "a")])
    assert found.timelines[0].created == at(100.8)


def test_a_pod_has_the_last_requests_of_its_name() -> None:
    """A StatefulSet uses them again; one made with its node is bound at once."""
    entries = [
        logged(100.9, name="a"),
        logged(101.9, "binding", "a"),
        logged(104.9, name="a"),
        logged(105.9, "binding", "a"),
    ]
    (again,) = answered(life("a", 105, 106, 107), entries).timelines
    made = answered([seen(101, Verb.ADDED, "a", node="n1")], entries[:1])
    (with_node,) = made.timelines

    assert (again.created, again.bound) == (at(104.9), at(105.9))
    assert (with_node.created, with_node.bound) == (at(100.9), at(100.9))
    assert made.missing == 0


def test_what_the_log_lacks_is_counted() -> None:
    """Another pod's request, or one that was refused, is none of its own."""
    found = answered(life("a", 101, 102, 103), [logged(100.9, name="b")])

    assert found.missing == 2
    assert found.lags_s == ()
