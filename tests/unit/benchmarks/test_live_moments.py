"""From what the watches showed of a window to what the figures are made of."""

from __future__ import annotations

from typing import Any

from watched_pods import at, life, seen

from benchmarks.live.moments import Moments
from stowage_testbed.observe.change import Change, Verb


def plan(
    second: float, phase: str, verb: Verb = Verb.MODIFIED, name: str = "plan"
) -> Change:
    status = {"phase": phase, "moves": [{}, {}], "placements": [{}], "message": "why"}
    return object_at(second, "PackingPlan", name, verb, status=status)


def steady(second: float, ready: int) -> Change:
    status = {"readyReplicas": ready}
    return object_at(
        second, "ReplicaSet", "steady", spec={"replicas": 2}, status=status
    )


def object_at(
    second: float, kind: str, name: str, verb: Verb = Verb.MODIFIED, **body: Any
) -> Change:
    metadata = {"name": name, "uid": f"uid-{name}"}
    return Change(kind, verb, at(second), {"metadata": metadata, **body})


def test_all_pods_are_ready_when_the_moved_ones_are_back_too() -> None:
    """The pods that arrive are often ready before the last one that made room."""
    moments = Moments(
        [
            steady(0, 2),
            *life("large-0", created=10, bound=15, ready=16),
            plan(12, "Executing"),
            steady(14, 1),
            steady(18, 2),
            plan(19, "Completed"),
        ]
    )

    row = moments.plan_row(large=1)

    assert (row.ready_s, row.unready) == (8, 0)
    assert (row.stored_after_last_s, row.moved, row.placed) == (2, 2, 1)
    assert (row.plans, row.given_up, row.left) == (1, (), ())


def test_what_never_came_about_is_no_number() -> None:
    """A plan that failed must not look as if it had been quick."""
    moments = Moments(
        [
            steady(0, 2),
            seen(10, Verb.ADDED, "large-0"),
            plan(12, "Executing"),
            steady(14, 1),
            plan(15, "Aborted"),
            object_at(16, "Reservation", "room"),
        ]
    )

    row = moments.plan_row(large=1)

    assert (row.ready_s, row.unready) == (None, 2)
    assert (row.moved, row.given_up, row.left) == (0, ("Aborted: why",), ("room",))


def test_a_plan_for_the_first_arrivals_is_none_for_the_last() -> None:
    """A plan may be stored while pods still arrive; those need another one."""
    moments = Moments(
        [
            seen(10, Verb.ADDED, "large-0"),
            plan(12, "Executing", name="early"),
            seen(14, Verb.ADDED, "large-1"),
            plan(17, "Executing", name="late"),
        ]
    )

    assert moments.plan_row(large=2).stored_after_last_s == 3


def test_plans_and_pods_of_an_earlier_window_are_not_counted() -> None:
    """A round would else be as quick as the one before."""
    moments = Moments(
        [
            plan(0, "Completed", Verb.LISTED),
            seen(0, Verb.LISTED, "large-0", node="n1", ready=True),
            seen(1, Verb.MODIFIED, "large-0", node="n1", ready=True),
            seen(2, Verb.ADDED, "large-1"),
        ]
    )

    row = moments.plan_row(large=1)

    assert (row.plans, row.stored_s, row.unready) == (0, None, 1)


def test_waits_are_of_the_pods_that_no_plan_concerns() -> None:
    """Large pods wait for room, which is no fault of the scheduler's."""
    moments = Moments(
        [
            *life("large-0", created=1, bound=9, ready=10),
            *life("tiny-0", created=2, bound=2.5, ready=3),
            seen(4, Verb.ADDED, "tiny-1"),
        ]
    )

    assert moments.tiny() == ((0, 0.5), (2, None))
