"""When a fault begins, and when its moment is known to have been missed."""

from __future__ import annotations

import pytest
from seen_states import Seen, fresh, placed, plan, refused, state_of

from benchmarks.faults.moment import moment_of
from benchmarks.faults.settings import FaultMoment, FaultSettings
from stowage_testbed.observe.condition import ConditionResult

OLD = (placed("old-1"), placed("old-2", "n2"))


def seen(at: FaultMoment, *objects: Seen, count: int = 1) -> ConditionResult:
    """Look for a moment when two pods, old-1 and old-2, had been bound before."""
    settings = FaultSettings("nothing", at, count=count)
    return moment_of(settings, "ns", {"uid-old-1", "uid-old-2"})(state_of(*objects))


@pytest.mark.parametrize(
    ("at", "bodies", "comes"),
    [
        ("unschedulable", (*OLD, fresh("new")), False),
        ("unschedulable", (*OLD, refused("new")), True),
        ("solving", (*OLD, plan("p", "")), False),
        ("solving", (*OLD, plan("p", "Solving")), True),
        ("solving", (*OLD, plan("p", "Executing")), True),
        ("proposed", (*OLD, plan("p", "Solving")), False),
        ("executing", (*OLD, plan("p", "Proposed")), False),
        ("executing", (*OLD, plan("p", "Executing")), True),
        ("evicted", OLD, False),
        ("evicted", OLD[:1], True),
        ("arrived", (*OLD, fresh("new")), False),
        ("arrived", (*OLD, placed("new", "n1")), True),
    ],
)
def test_a_moment_comes_with_what_it_is_named_for(
    at: FaultMoment, bodies: tuple[Seen, ...], comes: bool
) -> None:
    """A fault that strikes at another moment shows something else."""
    result = seen(at, *bodies)

    assert result.holds is comes
    assert not result.error


def test_more_pods_must_have_left_for_a_later_moment() -> None:
    """A plan is interrupted after each of its steps, not only after the first."""
    assert not seen("evicted", *OLD[:1], count=2).holds
    assert seen("evicted", count=2).holds


@pytest.mark.parametrize("at", ["solving", "executing", "evicted"])
def test_a_moment_is_missed_once_the_plan_is_over(at: FaultMoment) -> None:
    """Nobody waits for a step of a plan that has been carried out."""
    result = seen(at, *OLD, plan("p", "Completed"))

    assert not result.holds
    assert "it is over" in result.error


def test_a_plan_that_failed_is_followed_by_another() -> None:
    """The moment may come with the next one."""
    assert not seen("executing", *OLD, plan("p", "Failed")).error
