"""When a fault begins, and when its moment is known to have been missed."""

from __future__ import annotations

from typing import Any

import pytest
from watch_server import a_pod

from stowage_testbed.faults.moment import moment_of
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.observe.state import State
from stowage_testbed.observe.verdict import Verdict
from stowage_testbed.scenario.model import FaultMoment, FaultSettings


def a_plan(phase: str) -> dict[str, Any]:
    return {
        "metadata": {"uid": "p", "name": "p"},
        "spec": {"mode": "Execute"},
        "status": {"phase": phase, "optimal": True},
    }


def refused(name: str) -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    return {**a_pod(name), "status": {"conditions": [condition]}}


def seen(at: FaultMoment, *bodies: dict[str, Any], count: int = 1) -> Verdict:
    """Look for a moment when two pods, old-1 and old-2, had been bound before."""
    state = State()
    for number, body in enumerate(bodies):
        kind = "PackingPlan" if "mode" in body.get("spec", {}) else "Pod"
        state.apply(Change(kind, Verb.ADDED, Receipt(number, number), body))
    settings = FaultSettings("nothing", at, count=count)
    return moment_of(settings, "ns", {"uid-old-1", "uid-old-2"})(state)


OLD = (a_pod("old-1", node="n1"), a_pod("old-2", node="n2"))


@pytest.mark.parametrize(
    ("at", "bodies", "comes"),
    [
        ("refused", (*OLD, a_pod("new")), False),
        ("refused", (*OLD, refused("new")), True),
        ("solving", (*OLD, a_plan("")), False),
        ("solving", (*OLD, a_plan("Solving")), True),
        ("solving", (*OLD, a_plan("Executing")), True),
        ("proposed", (*OLD, a_plan("Solving")), False),
        ("executing", (*OLD, a_plan("Proposed")), False),
        ("executing", (*OLD, a_plan("Executing")), True),
        ("evicted", OLD, False),
        ("evicted", OLD[:1], True),
        ("arrived", (*OLD, a_pod("new")), False),
        ("arrived", (*OLD, a_pod("new", node="n1")), True),
    ],
)
def test_a_moment_comes_with_what_it_is_named_for(
    at: FaultMoment, bodies: tuple[dict[str, Any], ...], comes: bool
) -> None:
    """A fault that strikes at another moment shows something else."""
    verdict = seen(at, *bodies)

    assert verdict.holds is comes
    assert not verdict.error


def test_more_pods_must_have_left_for_a_later_moment() -> None:
    """A plan is interrupted after each of its steps, not only after the first."""
    assert not seen("evicted", *OLD[:1], count=2).holds
    assert seen("evicted", count=2).holds


@pytest.mark.parametrize("at", ["solving", "executing", "evicted"])
def test_a_moment_is_missed_once_the_plan_is_over(at: FaultMoment) -> None:
    """Nobody waits for a step of a plan that has been carried out."""
    verdict = seen(at, *OLD, a_plan("Completed"))

    assert not verdict.holds
    assert "it is over" in verdict.error


def test_a_plan_that_failed_is_followed_by_another() -> None:
    """The moment may come with the next one."""
    assert not seen("executing", *OLD, a_plan("Failed")).error
