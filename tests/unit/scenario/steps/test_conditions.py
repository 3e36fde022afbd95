"""When what a step waits for has come about, and what is said while it has not."""

from collections.abc import Sequence

import pytest
from seen_states import Seen, fresh, leaving, of_workload, placed, plan, refused, reservation, state_of

from stowage_testbed.scenario.steps.waiting import in_phase, some_pods

RUNNING = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def web(pod: Seen, **status: object) -> Seen:
    return of_workload("web", pod, **status)


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
        # One that is done stays in the list, and takes no room.
        ("gone", web(placed("a"), phase="Succeeded"), web(leaving("a"))),
        ("gone", of_workload("other", placed("b")), web(refused("a"))),
    ],
)
def test_a_condition_holds_for_enough_pods_and_not_for_fewer(kind: str, enough: Seen, too_few: Seen) -> None:
    """Pods of other workloads do not count, unless none is named."""
    count, others = int(kind != "gone"), of_workload("other", placed("o"), **RUNNING)

    def holds(of: Sequence[str], count: int, *pods: Seen) -> bool:
        return some_pods("ns", of, count, kind)(state_of(others, *pods)).holds

    assert holds(["web"], count, enough)
    assert not holds(["web"], count, too_few)
    if count:
        assert not holds(["web"], 2, enough)
        assert holds((), 2, enough) is (kind in {"bound", "ready", "settled"})


def test_a_wait_that_fails_says_why_pods_wait() -> None:
    """The time-out's message is often all that is left of a run."""

    def seen(kind: str, count: int, *pods: Seen) -> str:
        found = some_pods("ns", ["web"], count, kind)(state_of(*pods))
        assert not found.holds
        return found.state

    # A third pod that nobody has tried yet may still take a place.
    untried = seen("settled", 1, web(placed("a")), web(fresh("b")))
    assert "ns/b: not tried by a scheduler yet" in untried
    assert seen("bound", 3, web(placed("a")), web(refused("b"))) == (
        "1 of 3 pods are bound; 2 of 3 pods exist, 1 without a node (ns/b: Unschedulable: 0/2 nodes are available)"
    )


WAITS = "Reservation peak is Pending (Unschedulable: Unschedulable)"


@pytest.mark.parametrize(
    ("seen", "wanted", "holds", "said"),
    [
        (reservation("peak", "Available"), "Available", True, ""),
        (reservation("peak", "Pending", "Unschedulable"), "Available", False, WAITS),
        (None, "Available", False, "is not there"),
        # Else it would last until the deadline, in vain.
        (reservation("peak", "Failed", "Expired"), "Available", False, "Failed (Expir"),
        (reservation("peak", "Failed", "Expired"), "Failed", True, ""),
        # A plan may pass through a phase between two looks.
        (plan("peak", "Executing"), "Executing", True, ""),
        (plan("peak", "Completed"), "Executing", True, ""),
        (plan("peak", "Solving"), "Executing", False, "is Solving"),
        (plan("peak", "Aborted"), "Completed", False, "Aborted"),
        (plan("peak", "Completed"), "NoImprovement", False, "Completed"),
    ],
)
def test_an_object_is_waited_for_until_it_is_in_its_phase_or_has_failed(
    seen: Seen | None, wanted: str, holds: bool, said: str
) -> None:
    """And meanwhile says what it lacks."""
    kind = seen[0] if seen else "Reservation"
    condition = in_phase(kind, "peak", wanted, lambda state: next(iter(state.bodies(kind)), None))
    found = condition(state_of(*[seen] if seen else []))
    in_vain = "Failed" in said or said in {"Aborted", "Completed"}

    assert found.holds is holds
    assert bool(found.error) is in_vain
    assert said in (found.error if in_vain else found.state)
