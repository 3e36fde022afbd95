"""What the rules cost as a run grows."""

from __future__ import annotations

import inspect
import sys
from types import FrameType
from typing import Any

import pytest
from history_builder import HistoryBuilder

from stowage_testbed.invariants import History
from stowage_testbed.invariants.check import RULES, Rule

PODS = 60


def a_run(pods: int) -> History:
    """Return a run in which a fifth of the pods are moved, each by a plan of its own.

    There are as many nodes, budgets and reservations as moves, and one more plan is
    written all the time.
    """
    run = HistoryBuilder().replica_set(pods)
    for number in range(pods // 5):
        run.node(f"n{number}", cpu="8")
        run.budget(1, name=f"pdb{number}", app=f"a{number}")
    for number in range(pods):
        app = {"app": f"a{number // 5}"}
        run.pod(f"p{number}", labels=app)
        run.pod(f"p{number}", node=f"n{number // 5}", labels=app)
    run.plan("long", "Solving").plan("long", "Executing")
    for number in range(pods // 5):
        old, node, app = f"p{number * 5}", f"n{number}", {"app": f"a{number}"}
        run.plan("long", "Executing")
        run.reservation(f"r{number}")
        run.plan(f"dry{number}", "Proposed", old, execution_mode="DryRun")
        run.plan(f"dry{number}", "Proposed", old, execution_mode="DryRun")
        run.evict(old)
        run.pod(old, node=node, labels=app, terminating=True)
        run.pod(f"new{number}", labels=app)
        run.pod(f"new{number}", node=node, labels=app)
        run.gone("Pod", old)
        run.gone("Reservation", f"r{number}")
    return run.plan("long", "Completed").history()


def steps_of(rule: Rule, history: History) -> int:
    """Return how many lines of the rules' files a rule goes through."""
    folder = inspect.getfile(History).rpartition("/")[0]
    steps = 0

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal steps
        if not frame.f_code.co_filename.startswith(folder):
            return None
        steps += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        found = list(rule(history))
    finally:
        sys.settrace(before)
    assert found == []
    return steps


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_takes_as_many_steps_a_pod_in_a_larger_run(rule: Rule) -> None:
    """At 50,000 pods a step for each pair of pods is a matter of hours."""
    few, many = steps_of(rule, a_run(PODS)), steps_of(rule, a_run(4 * PODS))

    assert many <= 4.4 * few
