"""Each rule on histories that break it, and on the nearest ones that do not."""

import inspect
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import yaml
from history_builder import HistoryBuilder

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.invariants import History, check
from stowage_testbed.invariants.rules import RULES, Rule
from stowage_testbed.observe.pod import requests_of

HISTORIES = yaml.safe_load(Path(__file__).with_name("histories.yaml").read_text())
SOUND, BROKEN = HISTORIES["sound"], HISTORIES["broken"]


def history_of(steps: Sequence[Sequence[Any]]) -> History:
    builder = HistoryBuilder()
    for name, *arguments in steps:
        named = [one for one in arguments if isinstance(one, dict)]
        plain = [one for one in arguments if not isinstance(one, dict)]
        getattr(builder, name)(*plain, **dict(*named))
    return builder.history()


@pytest.mark.parametrize(("rule", "name"), [(rule, name) for rule in BROKEN for name in BROKEN[rule]])
def test_a_history_that_breaks_a_rule_is_found(rule: str, name: str) -> None:
    """A rule that cannot fail shows nothing."""
    found = check(history_of(BROKEN[rule][name]))

    assert {violation.rule for violation in found} == {rule}
    assert all(violation.in_words().startswith(rule) for violation in found)


@pytest.mark.parametrize("name", SOUND)
def test_a_history_that_only_comes_near_is_not(name: str) -> None:
    """A rule that cries wolf is switched off sooner or later."""
    assert check(history_of(SOUND[name])) == []


def test_every_rule_is_shown_to_fail() -> None:
    """A new rule needs its bad history."""
    assert len(BROKEN) == len(RULES)


PODS = 60


def a_run(pods: int) -> History:
    """Return a run in which a fifth of the pods are moved, each by a plan of its own.

    There are as many nodes, budgets, gangs and reservations as moves, and one more plan is written all the time.
    """
    run, moves = HistoryBuilder().replica_set(pods), range(pods // 5)
    for n in moves:
        run.node(f"n{n}", cpu="8").budget(1, name=f"pdb{n}", app=f"a{n}").group(f"g{n}", 2)
        run.slice(f"n{n}", gpu={"memory": "80Gi"}, left={"takes": ["s0"]}, right={"takes": ["s1"]})
    for n in range(pods):
        app, gang = {"app": f"a{n // 5}"}, f"g{n // 5}"
        run.pod(f"p{n}", labels=app, group=gang).pod(f"p{n}", node=f"n{n // 5}", labels=app, group=gang)
    run.plan("long", "Solving").plan("long", "Executing")
    for n in moves:
        old, node, app, gang = f"p{n * 5}", f"n{n}", {"app": f"a{n}"}, f"g{n}"
        run.plan("long", "Executing").reservation(f"r{n}")
        run.plan(f"dry{n}", "Proposed", old, execution_mode="DryRun")
        run.plan(f"dry{n}", "Proposed", old, execution_mode="DryRun")
        run.evict(old).pod(old, node=node, labels=app, group=gang, terminating=True)
        run.pod(f"new{n}", labels=app, group=gang).pod(f"new{n}", node=node, labels=app, group=gang)
        run.claim(f"c{n}", "left", node=node, gpu="8Gi").claim(f"d{n}", "right", node=node)
        run.gone("Pod", old).gone("Reservation", f"r{n}").gone("ResourceClaim", f"c{n}")
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


SPECS = yaml.safe_load(Path(__file__).with_name("pods.yaml").read_text("utf-8"))


@pytest.mark.parametrize("what", SPECS)
def test_a_pod_takes(what: str) -> None:
    """A count of our own that differs finds overcommit where there is none."""
    spec, amounts = SPECS[what]["spec"], SPECS[what]["takes"]

    assert requests_of({"spec": spec}) == Resources(amounts, pods=1)
