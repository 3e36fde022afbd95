"""Acting on a cluster in virtual time, by the real scheduler and descheduler."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.observe.node import Node
from stowage_testbed.policyday.evaluation import evaluate_policy
from stowage_testbed.policyday.policy import Opening, Policy, Window, find_arm, find_windows, read_policy
from stowage_testbed.policyday.trial import Descheduler, Settings, run_arm
from stowage_testbed.simulate.process import find_profile
from stowage_testbed.simulate.virtual_time import World, make_events
from stowage_testbed.trace.format import (
    Header,
    Line,
    NodeSeen,
    ObjectSeen,
    Owner,
    PodBound,
    PodCame,
    PodEnded,
    PodTemplate,
    Template,
)
from stowage_testbed.trace.reading import Trace

PROFILE = find_profile("deterministic")
WINDOWS = (Window(60, 660),)
ROOM = {"cpu": "10", "memory": "10Gi", "pods": "10"}
PACKING_ARM = "high-node-utilization-most-allocated"
POLICY = """\
apiVersion: stowage.dev/v1alpha1
kind: PackingPolicy
metadata: {name: nightly}
spec:
  windows: [{schedule: "1 0 * * *", durationSeconds: 600}]
  schedulerNames: [default-scheduler]
  coolDownSeconds: 3600
"""


def make_day(least: int = 0) -> Trace:
    """Return three nodes: one well used, and two with a pod each that fit there.

    A disruption budget wants ``least`` of the three pods.
    """
    header = Header(1, "2026-01-05T00:00:00Z", "1.37.2", {"d": {}})
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "d"},
        "spec": {"minAvailable": least, "selector": {"matchLabels": {"app": "a"}}},
    }

    def lines() -> Iterator[Line]:
        for number in range(3):
            labels = {"stowage.dev/hourly-price": "0.1"}
            yield NodeSeen(t=0, name=f"n{number}", node=Node(ROOM, ROOM, labels))
        for name, amount in (("large", 5), ("small", 1)):
            requests = {"cpu": f"{amount}", "memory": f"{amount}Gi"}
            container = {"name": "c", "image": "i", "resources": {"requests": requests}}
            template = PodTemplate({"app": "a"}, {}, {"containers": [container]})
            yield Template(t=0, id=name, template=template)
        yield ObjectSeen(t=0, object=budget)
        for name, of, node in (
            ("big", "large", "n0"), ("s1", "small", "n1"), ("s2", "small", "n2"),
        ):  # fmt: skip
            owner = Owner("Deployment", name)
            yield PodCame(t=0, namespace="d", name=name, of=of, owner=owner)
            yield PodBound(t=0, namespace="d", name=name, node=node)
        yield PodEnded(t=3600, namespace="d", name="s2", how="deleted", ran_s=3600)

    return Trace(header, tuple(lines()))


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    return read_policy(file)


def test_windows_are_found_and_schedules_judged_by_the_controllers_own_reader(policy: Policy) -> None:
    """Else a policy that was tried would do something else in the cluster."""
    said: list[str] = []
    began = datetime(2026, 1, 5, tzinfo=UTC)
    assert find_windows(policy, began, 90_000, said.append) == (*WINDOWS, Window(86_460, 87_060))

    assert find_windows(Policy((Opening("0 0 30 2 *", 60),), name="leap"), began, 3600, said.append) == ()
    never, none = said
    assert never.startswith("policy leap: windows[0]: schedule '0 0 30 2 *' never opens")
    assert none == "no window of policy leap opens within the 1.00 h of the trace"
    with pytest.raises(InputError, match="no time zone"):
        find_windows(Policy((Opening("0 2 * * *", 60, "Mars/Base"),)), began, 3600, said.append)


def happen_all(world: World, day: Trace) -> None:
    for event in make_events(replace(day, lines=day.lines[:-1])):
        world.happen(event)


def test_what_is_evicted_comes_back_and_the_state_tells_where() -> None:
    """Whoever acts on the world decides by what it says, and is told a wrong event."""
    with World(PROFILE) as world:
        happen_all(world, make_day())
        refused = [world.evict(9, "d/s1"), world.evict(9, "d/nobody")]
        pods = {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in world.tell_state(9)["pods"]}
        ends = {life.pod: life.how for life in world.end().lives}

    assert refused == ["", "there is no such pod"]
    assert set(pods) == {"big", "s2", "s1-again-1"}
    assert pods["s1-again-1"]
    assert ends["d/s1"] == "evicted"
    with World(PROFILE) as world:
        world.happen({"at": "noon"})
        with pytest.raises(StowageError, match="not an event"):
            world.tell_state(0)


@pytest.mark.nightly
def test_the_descheduler_asks_for_the_pods_of_nodes_that_are_little_used() -> None:
    """By upstream's own code: pods without a controller stay, and it says so."""
    asked: list[str] = []

    def evict(pod: str) -> str:
        asked.append(pod)
        return "" if pod == "d/s1" else "the budget says no"

    with World(PROFILE) as world, Descheduler({"cpu": 20, "memory": 20}) as plugin:
        happen_all(world, make_day())
        state: dict[str, Any] = world.tell_state(9)
        for pod in state["pods"]:
            if pod["metadata"]["name"] == "big":
                pod["metadata"]["ownerReferences"] = []
        kept = plugin.run_pass(state, evict)
        assert plugin.run_pass({**state, "pods": []}, evict) == {}

    assert sorted(asked) == ["d/s1", "d/s2"]
    assert kept == {"the budget says no": 1}


@pytest.mark.nightly
def test_a_trial_tells_what_the_descheduler_emptied(policy: Policy) -> None:
    """With its scoring, the two small pods move in with the large one."""
    trial = run_arm(find_arm(PACKING_ARM), make_day(), policy, WINDOWS, Settings(PROFILE))
    (outcome,) = trial.windows
    assert outcome.used_before == {"n0", "n1", "n2"}
    assert outcome.emptied == set(outcome.left) == {"n1", "n2"}
    assert trial.passed.evictions.budgets_broken == 0


def test_beside_what_was_emptied_stands_the_proved_most(policy: Policy) -> None:
    """Two of three nodes can be emptied, and without anybody acting none is."""
    day, settings, say = make_day(), Settings(PROFILE), lambda _: None
    arms = [find_arm("none")]
    evaluation = evaluate_policy(policy, "three nodes", day, arms, settings, proof_s=5, say=say)
    (arm,) = evaluation.arms
    (window,) = arm.windows
    assert (window.emptied, window.most_emptied) == (0, 2)
    assert (window.nodes_before, window.nodes_after) == (3, 3)


def test_a_policy_does_the_same_again(policy: Policy) -> None:
    """With a deterministic optimiser two policies differ in what they do only."""
    arm, day = find_arm("policy"), make_day()
    first, second = (run_arm(arm, day, policy, WINDOWS, Settings(PROFILE)) for _ in range(2))
    assert first.passed.lives == second.passed.lives


@pytest.mark.parametrize(
    ("name", "least", "emptied"),
    [
        # Two pods go to the third in one window, however often the process is killed.
        ("policy", 0, 2),
        ("policy-killed", 0, 2),
        # A budget allows nothing, and each arm says in its own words why.
        ("policy", 3, 0),
        pytest.param(PACKING_ARM, 3, 0, marks=pytest.mark.nightly),
    ],
)
def test_an_arm_empties_what_budgets_allow(policy: Policy, name: str, least: int, emptied: int) -> None:
    """It acts by the cluster's own code."""
    trial = run_arm(find_arm(name), make_day(least), policy, WINDOWS, Settings(PROFILE))
    (outcome,) = trial.windows
    assert (len(outcome.emptied), len(outcome.left)) == (emptied, emptied)
    evictions = trial.passed.evictions
    assert (evictions.budgets_broken, evictions.within_cool_down) == (0, 0)
    if emptied:
        assert (outcome.runs, evictions.evicted) == (1, emptied)
    else:
        assert any(re.search("disruption.budget", why) for why in outcome.refused)
