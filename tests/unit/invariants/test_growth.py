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
    run, moves = HistoryBuilder().replica_set(pods), range(pods // 5)
    for n in moves:
        run.node(f"n{n}", cpu="8").budget(1, name=f"pdb{n}", app=f"a{n}")
    for n in range(pods):
        app = {"app": f"a{n // 5}"}
        run.pod(f"p{n}", labels=app).pod(f"p{n}", node=f"n{n // 5}", labels=app)
    run.plan("long", "Solving").plan("long", "Executing")
    for n in moves:
        old, node, app = f"p{n * 5}", f"n{n}", {"app": f"a{n}"}
        run.plan("long", "Executing").reservation(f"r{n}")
        run.plan(f"dry{n}", "Proposed", old, execution_mode="DryRun")
        run.plan(f"dry{n}", "Proposed", old, execution_mode="DryRun")
        run.evict(old).pod(old, node=node, labels=app, terminating=True)
        run.pod(f"new{n}", labels=app).pod(f"new{n}", node=node, labels=app)
        run.gone("Pod", old).gone("Reservation", f"r{n}")
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
