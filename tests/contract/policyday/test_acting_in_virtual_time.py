"""Acting on a cluster in virtual time, by the real scheduler and descheduler."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stowage_testbed.base.errors import StowageError
from stowage_testbed.policyday.arms import find_arm
from stowage_testbed.policyday.descheduler import Descheduler
from stowage_testbed.policyday.policy import read_policy
from stowage_testbed.policyday.trial import Settings, try_arm
from stowage_testbed.policyday.trying import try_policy
from stowage_testbed.simulate import find_profile
from stowage_testbed.simulate.trace_events import make_events
from stowage_testbed.simulate.world import World
from stowage_testbed.trace.format import (
    Header,
    Line,
    Node,
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
ROOM = {"cpu": "10", "memory": "10Gi", "pods": "10"}
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

    Parameters
    ----------
    least
        How many pods a disruption budget wants of the three.
    """
    requests = {"cpu": "5", "memory": "5Gi"}
    small = {"cpu": "1", "memory": "1Gi"}
    header = Header(1, "2026-01-05T00:00:00Z", "1.37.2", {"d": {}})

    def template(name: str, asked: dict[str, str]) -> Template:
        container = {"name": "c", "image": "i", "resources": {"requests": asked}}
        spec = {"containers": [container]}
        return Template(t=0, id=name, template=PodTemplate({"app": "a"}, {}, spec))

    pods = [("big", "large", "n0"), ("s1", "small", "n1"), ("s2", "small", "n2")]
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
        yield template("large", requests)
        yield template("small", small)
        yield ObjectSeen(t=0, object=budget)
        for name, of, node in pods:
            owner = Owner("Deployment", name)
            yield PodCame(t=0, namespace="d", name=name, of=of, owner=owner)
            yield PodBound(t=0, namespace="d", name=name, node=node)
        yield PodEnded(t=3600, namespace="d", name="s2", how="deleted", ran_s=3600)

    return Trace(header, tuple(lines()))


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    """Return a file with a policy of one window."""
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    return file


def happen_all(world: World, day: Trace) -> None:
    for event in make_events(replace(day, lines=day.lines[:-1])):
        world.happen(event)


def test_what_is_evicted_comes_back_and_the_state_tells_where() -> None:
    """Whoever acts on the world decides by what it says."""
    with World(PROFILE) as world:
        happen_all(world, make_day())
        refused = [world.evict(9, "d/s1"), world.evict(9, "d/nobody")]
        pods = {
            pod["metadata"]["name"]: pod["spec"].get("nodeName", "")
            for pod in world.tell_state(9)["pods"]
        }
        passed = world.end()

    assert refused == ["", "there is no such pod"]
    assert set(pods) == {"big", "s2", "s1-again-1"}
    assert pods["s1-again-1"]
    ends = {life.pod: life.how for life in passed.lives}
    assert ends["d/s1"] == "evicted"


def test_an_event_that_makes_no_sense_ends_the_world_with_its_reason() -> None:
    """Not with a pipe that nobody reads."""
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
def test_a_trial_tells_what_the_descheduler_emptied(policy_file: Path) -> None:
    """With its scoring, the two small pods move in with the large one."""
    day = make_day()
    arm = find_arm("high-node-utilization-most-allocated")

    trial = try_arm(arm, day, read_policy(policy_file), Settings(PROFILE))

    (told,) = trial.windows
    assert told.used_before == {"n0", "n1", "n2"}
    assert told.emptied == {"n1", "n2"}
    assert set(told.left) == {"n1", "n2"}
    assert trial.passed.evictions.budgets_broken == 0


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("high-node-utilization-most-allocated", marks=pytest.mark.nightly),
        "policy",
    ],
)
def test_a_budget_that_allows_nothing_keeps_every_pod(
    policy_file: Path, name: str
) -> None:
    """Nothing moves, and each arm says in its own words why."""
    day = make_day(least=3)

    trial = try_arm(find_arm(name), day, read_policy(policy_file), Settings(PROFILE))

    (told,) = trial.windows
    assert (told.left, told.emptied) == ([], frozenset())
    assert any(re.search("disruption.budget", why) for why in told.kept)


def test_beside_what_was_emptied_stands_what_is_proved_to_be_the_most(
    policy_file: Path,
) -> None:
    """Two of three nodes can be emptied, and without anybody acting none is."""
    tried = try_policy(
        read_policy(policy_file),
        "three nodes",
        make_day(),
        [find_arm("none")],
        Settings(PROFILE),
        proof_s=5,
        say=lambda _: None,
    )

    (arm,) = tried.arms
    (window,) = arm.windows
    assert (window.emptied, window.most_emptied) == (0, 2)
    assert (window.nodes_before, window.nodes_after) == (3, 3)


@pytest.mark.parametrize("name", ["policy", "policy-killed"])
def test_a_policy_empties_what_it_can_by_the_clusters_own_code(
    policy_file: Path, name: str
) -> None:
    """Two pods go to the third, in one window, however often the process is killed."""
    trial = try_arm(
        find_arm(name), make_day(), read_policy(policy_file), Settings(PROFILE)
    )

    (told,) = trial.windows
    assert told.runs == 1
    assert len(told.emptied) == 2
    assert len(told.left) == trial.passed.evictions.evicted == 2
