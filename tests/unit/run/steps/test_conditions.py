"""When what a step waits for has come about, and what is said while it has not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from seen_states import (
    Seen,
    fresh,
    leaving,
    of_workload,
    placed,
    plan,
    refused,
    reservation,
    state_of,
)

from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.condition import ConditionResult
from stowage_testbed.observe.state import State
from stowage_testbed.run.steps.conditions import in_phase, some_pods

RUNNING = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def web(pod: Seen, **status: object) -> Seen:
    return of_workload("web", pod, **status)


def seen(kind: str, count: int, *pods: Seen) -> ConditionResult:
    others = of_workload("other", placed("o"), **RUNNING)
    return some_pods("ns", ["web"], count, kind)(state_of(others, *pods))


@pytest.mark.parametrize(
    ("kind", "enough", "too_few"),
    [
        ("bound", web(placed("a")), web(refused("a"))),
        ("bound", web(placed("a"), phase="Succeeded"), web(leaving("a"))),
        ("ready", web(placed("a"), **RUNNING), web(placed("a"), phase="Running")),
        ("ready", web(placed("a"), phase="Succeeded"), web(fresh("a"))),
        ("ready", web(placed("a"), **RUNNING), web(leaving("a"), **RUNNING)),
        ("unschedulable", web(refused("a")), web(fresh("a"))),
        ("terminating", web(leaving("a")), web(placed("a"))),
        ("settled", web(refused("a")), web(fresh("a"))),
        ("settled", web(placed("a")), web(leaving("a"))),
    ],
)
def test_a_condition_holds_for_enough_pods_and_not_for_fewer(
    kind: str, enough: Seen, too_few: Seen
) -> None:
    """Pods of other workloads do not count."""
    assert seen(kind, 1, enough).holds
    assert not seen(kind, 1, too_few).holds
    assert not seen(kind, 2, enough).holds


def test_no_name_means_all_pods_and_gone_is_what_wants_no_room() -> None:
    """One that is done stays in the list, and takes no room."""
    state = state_of(web(placed("a")), of_workload("db", placed("b")))

    assert some_pods("ns", (), 2, "bound")(state).holds
    assert not some_pods("ns", ["db"], 2, "bound")(state).holds
    assert seen("gone", 0).holds
    assert seen("gone", 0, web(placed("a"), phase="Succeeded")).holds
    assert not seen("gone", 0, web(leaving("a"))).holds
    assert not seen("gone", 0, web(refused("a"))).holds


def test_a_wait_that_fails_says_why_pods_wait() -> None:
    """The time-out's message is often all that is left of a run."""
    untried = seen("settled", 1, web(placed("a")), web(fresh("b")))
    verdict = seen("bound", 3, web(placed("a")), web(refused("b")))

    # A third pod that nobody has tried yet may still take a place.
    assert not untried.holds
    assert "ns/b: not tried by a scheduler yet" in untried.state
    assert verdict.state == (
        "1 of 3 pods are bound; 2 exist, 1 without a node "
        "(ns/b: Unschedulable: 0/2 nodes are available)"
    )


def the_first(kind: str) -> Callable[[State], JsonObject | None]:
    """Return what finds the only object of a kind."""
    return lambda state: next(iter(state.bodies(kind)), None)


def test_an_object_is_waited_for_until_it_is_in_its_phase_or_has_failed() -> None:
    """And meanwhile says what it lacks; in vain it would last until the deadline."""
    find = the_first("Reservation")
    condition = in_phase("Reservation", "peak", "Available", find)
    failed = state_of(reservation("peak", "Failed", "Expired"))
    waits = condition(state_of(reservation("peak", "Pending", "Unschedulable")))

    assert condition(state_of(reservation("peak", "Available"))).holds
    assert not waits.holds
    assert waits.state == "Reservation peak is Pending (Unschedulable: Unschedulable)"
    assert condition(state_of()).state == "Reservation peak is not there"
    assert not condition(failed).holds
    assert "Failed (Expired" in condition(failed).error
    assert in_phase("Reservation", "peak", "Failed", find)(failed).holds


@pytest.mark.parametrize(
    ("now", "wanted", "holds", "vain"),
    [
        ("Executing", "Executing", True, False),
        ("Completed", "Executing", True, False),
        ("Solving", "Executing", False, False),
        ("Aborted", "Completed", False, True),
        ("Completed", "NoImprovement", False, True),
    ],
)
def test_a_plan_that_has_gone_on_was_in_it(
    now: str, wanted: str, holds: bool, vain: bool
) -> None:
    """It may pass through a phase between two looks."""
    condition = in_phase("PackingPlan", "p", wanted, the_first("PackingPlan"))

    verdict = condition(state_of(plan("p", now)))

    assert (verdict.holds, bool(verdict.error)) == (holds, vain)
