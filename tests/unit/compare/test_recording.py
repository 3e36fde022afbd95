"""From changes and audit entries to a run's record."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from amounts import size, taken
from watched_pods import NAMESPACE, at, life, logged, seen

from stowage_testbed.metrics.catalogue import metrics_of
from stowage_testbed.metrics.record import PodRecord, RunRecord
from stowage_testbed.metrics.state import NodeState
from stowage_testbed.observe.answers import ANSWER_CLOCK
from stowage_testbed.observe.audit import AuditEntry
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.receipt import CLOCK_NAME
from stowage_testbed.recording.footprint import Footprint
from stowage_testbed.recording.run_record import (
    Observations,
    PodCount,
    RunLabel,
    make_node_records,
    make_record,
)

LABEL = RunLabel("burst/test", "default", "equal", round_number=3, warm=True)
NODE = NodeState("n1", size(4000, 4 * 10**9))


def record(
    changes: Sequence[Change],
    audit: Sequence[AuditEntry] = (),
    *,
    count: PodCount | None = None,
) -> RunRecord:
    """Return the record of the window from second 100 to second 110."""
    return make_record(
        LABEL,
        Observations(
            NAMESPACE,
            at(100),
            at(110),
            (NODE,),
            tuple(changes),
            tuple(audit),
            count,
            Footprint(10**8, 1.5),
        ),
    )


def test_moments_are_seconds_from_the_windows_start() -> None:
    """And a pod's requests are what the scheduler counts, sidecars included."""
    found = record(life("a", 101, 102.25, 103.5))

    assert found.pods == (
        PodRecord(
            uid="uid-a",
            name="a",
            workload="web",
            priority=7,
            requests=taken(150, 10**9),
            node="n1",
            created_s=1.0,
            bound_s=2.25,
            ready_s=3.5,
            watch_t_sched_s=1.25,
        ),
    )
    assert found.window_s == 10.0


def test_what_the_run_was_is_kept() -> None:
    """A record says by itself what it is a record of."""
    found = record([], count=PodCount(0, 0))

    assert (found.scenario_id, found.arm, found.limits) == (
        "burst/test",
        "default",
        "equal",
    )
    assert (found.round_number, found.warm, found.nodes) == (3, True, (NODE,))
    assert (found.peak_memory_bytes, found.cpu_s, found.api_pods) == (10**8, 1.5, 0)


def test_what_was_there_before_has_no_moments() -> None:
    """Its wait began unseen: a guess would be a latency that never was."""
    listed = [
        seen(99, Verb.LISTED, "bound", node="n1", ready=True),
        seen(99, Verb.LISTED, "waits"),
        seen(104, Verb.MODIFIED, "bound", node="n1", ready=True),
        seen(105, Verb.MODIFIED, "waits", node="n1"),
    ]

    bound, waits = record(listed).pods
    assert (bound.node, bound.created_s, bound.bound_s, bound.ready_s) == (
        "n1",
        None,
        None,
        None,
    )
    assert (waits.created_s, waits.bound_s) == (None, 5.0)


def test_what_came_after_the_window_is_not_in_it() -> None:
    """A pod that was bound after the end was waiting at the end."""
    late = [*life("late", 111, 112, 113), *life("waits", 101, 111, 112)]

    (waits,) = record(late).pods
    assert (waits.name, waits.node) == ("waits", "")
    assert (waits.bound_s, waits.ready_s) == (None, None)


def test_a_pod_is_gone_when_it_claims_no_room_any_more() -> None:
    """Deleted, or finished: a finished pod stays on its node and takes nothing."""
    finished = [
        *life("done", 101, 102, 103),
        seen(104, Verb.MODIFIED, "done", node="n1", phase="Succeeded"),
        seen(106, Verb.DELETED, "done", node="n1", phase="Succeeded"),
    ]
    deleted = [
        *life("deleted", 101, 102, 103),
        seen(105, Verb.DELETED, "deleted", node="n1"),
    ]

    assert [pod.gone_s for pod in record([*finished, *deleted]).pods] == [4.0, 5.0]


def test_pods_that_had_gone_before_are_left_out() -> None:
    """What a list still showed may have ended before the window began.

    Other namespaces are no part of the run: the release's own pods are there.
    """
    gone = [
        seen(98, Verb.LISTED, "a", node="n1"),
        seen(99, Verb.DELETED, "a", node="n1"),
    ]

    other = seen(101, Verb.ADDED, "other", namespace="kube-system")

    assert record([*gone, other]).pods == ()


def test_the_api_servers_answers_are_the_clock() -> None:
    """They have microseconds; delivery takes 20 ms to 200 ms, and each time another."""
    changes = [*life("a", 101, 102, 103), *life("b", 101.5, 102.5, 103)]
    audit = [
        logged(100.98, name="a"),
        logged(101.3, name="b"),
        logged(101.98, "binding", "a"),
        logged(102.48, "binding", "b"),
        logged(102.97, "status", "a", verb="patch"),
    ]

    found = record(changes, audit)

    assert [(pod.created_s, pod.bound_s) for pod in found.pods] == [
        (0.98, 1.98),
        (1.3, 2.48),
    ]
    # The log does not show b's readiness: it is moved by the median lag.
    assert [pod.ready_s for pod in found.pods] == pytest.approx([2.97, 2.98])
    assert [pod.watch_t_sched_s for pod in found.pods] == [1.0, 1.0]
    assert (found.clock, found.resolution_s) == (ANSWER_CLOCK, 1e-6)


def test_without_the_whole_audit_log_the_watch_is_the_clock() -> None:
    """Two clocks in one run would make latencies of their difference."""
    changes = [*life("a", 101, 102, 103), *life("b", 101.5, 102.5, 103)]
    audit = [
        logged(100.98, name="a"),
        logged(101.98, "binding", "a"),
        logged(102.48, "binding", "b"),
    ]

    for entries in (audit, []):
        found = record(changes, entries)
        assert (found.clock, found.resolution_s) == (CLOCK_NAME, 0.001)
        assert [pod.created_s for pod in found.pods] == [1.0, 1.5]


def test_clocks_with_a_steady_lag_agree() -> None:
    """Delivery takes 20 ms each time: that moves all moments, and no latency."""
    changes = [*life("a", 101, 102, 103), *life("b", 101.5, 102.5, 103)]
    audit = [
        logged(100.98, name="a"),
        logged(101.48, name="b"),
        logged(101.98, "binding", "a"),
        logged(102.48, "binding", "b"),
    ]

    found = record(changes, audit)
    assert found.audit_lag_s == pytest.approx(0.02)
    assert found.audit_beyond == 0
    assert found.watch_resolution_s == 0.001


def test_a_lag_that_changes_is_counted_and_blurs_the_watch() -> None:
    """Bindings come 10 ms later than creations: latencies are 10 ms too long."""
    changes = [
        change
        for number in range(3)
        for change in life(f"p{number}", 101 + number, 102.5 + number, 105)
    ]
    audit = [logged(101 + n - 0.001, name=f"p{n}") for n in range(3)]
    audit += [logged(102.5 + n - 0.011, "binding", f"p{n}") for n in range(2)]

    found = record(changes, audit)
    assert found.audit_beyond == 2
    assert found.resolution_s == found.watch_resolution_s == pytest.approx(0.01)
    assert found.error == ""


def test_bindings_that_the_log_lacks_are_counted() -> None:
    """A log that came too late gives the clocks' figures from a part of the run."""
    changes = [*life("a", 101, 102, 103), *life("b", 101.5, 102.5, 103)]
    first = logged(101.98, "binding", "a")

    found = record(changes, [first])
    assert found.audit_missing == 1
    notes = {
        metric.name: metric.note
        for metric in metrics_of(found)
        if "1 bindings are not in the audit log" in metric.note
    }
    assert {"watch_lag_median_s", "clocks_apart_events", "t_sched_mean_s"} <= set(notes)

    whole = record(changes, [first, logged(102.48, "binding", "b")])
    assert whole.audit_missing == 0


def test_a_clock_that_nobody_checked_says_so() -> None:
    """None is not 0."""
    assert record(life("a", 101, 104, 105)).audit_lag_s is None


def test_what_the_watch_lost_is_an_error() -> None:
    """A run that was not seen whole must not be compared."""
    unseen = record([seen(101, Verb.ADDED, "a")], [logged(102, "binding", "a")])
    again = seen(104, Verb.LISTED, "a", node="n1", ready=True)

    assert "1 bindings of the audit log were not seen" in unseen.error
    assert "ns/a" in unseen.error
    assert "broke off" in record([*life("a", 101, 102, 103), again]).error
    found = record(life("a", 101, 102, 103), count=PodCount(api=3, watched=1))

    assert found.api_pods == 3
    assert found.error == "the API server has 3 pods, of which the watch shows 1"


def test_nodes_are_read_with_what_they_can_give() -> None:
    """Sorted by name, so that two records of one run are equal."""
    bodies = [
        {
            "metadata": {"name": name},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "40"}},
        }
        for name in ("n2", "n1")
    ]

    assert make_node_records(bodies) == (
        NodeState("n1", size(4000, 8 * 2**30, 40)),
        NodeState("n2", size(4000, 8 * 2**30, 40)),
    )
