"""The step that drains nodes: what it evicts, how often, and what it says then."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from amounts import size

from stowage_testbed.api.client import ApiRefusedError
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import WaitTimeoutError
from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.condition import Condition
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.observe.state import State
from stowage_testbed.run.environment import ScenarioEnvironment
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.run.steps.execution import carry_out
from stowage_testbed.run.timeouts import Timeouts
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.action import Step
from stowage_testbed.scenario.steps.drain import Drain

BUDGET = '{"message": "The disruption budget stay-up needs 1 healthy pods and has 1"}'


class FakeCluster:
    """Pods on two nodes; evicting one takes it away, unless it is refused so often."""

    def __init__(self, refused: int = 0, status: int = 429) -> None:
        self.state = State()
        self.patched: dict[str, Any] = {}
        self.evicted: list[str] = []
        self._refused = refused
        self._status = status

    def add(self, name: str, node: str, owner: str = "ReplicaSet") -> None:
        owners = [{"kind": owner, "name": "a", "uid": "a", "controller": True}]
        body = {
            "metadata": {
                "uid": name,
                "namespace": "ns",
                "name": name,
                "ownerReferences": owners if owner else [],
            },
            "spec": {"nodeName": node},
            "status": {"phase": "Running"},
        }
        self.state.apply(Change("Pod", Verb.ADDED, Receipt(0, 0), body))

    def patch(self, kind: str, name: str, change: Any) -> Any:
        self.patched[f"{kind} {name}"] = change
        body = {"metadata": {"uid": name, "name": name, "resourceVersion": "1"}}
        self.state.apply(Change(kind, Verb.MODIFIED, Receipt(0, 0), body))
        return body

    def wait_for(self, what: str, condition: Condition, **_: Any) -> None:
        assert condition(self.state).holds, what

    def evict(self, name: str, *, namespace: str, uid: str) -> None:
        if self._refused:
            self._refused -= 1
            raise ApiRefusedError(f"evict Pod {name}", self._status, BUDGET)
        self.evicted.append(name)
        body = {"metadata": {"uid": uid, "namespace": namespace, "name": name}}
        self.state.apply(Change("Pod", Verb.DELETED, Receipt(0, 0), body))


def drained(cluster: FakeCluster, timeout_s: float = 5.0) -> None:
    run: Any = SimpleNamespace(
        observer=SimpleNamespace(
            read=lambda look: look(cluster.state), wait_for=cluster.wait_for
        ),
        objects=cluster,
        timeouts=Timeouts(),
    )
    pool = NodePool("node", 2, size(1000, 1 << 30))
    context = StepContext(
        run,
        Scenario("nodes/drained", "A test.", (pool,), ()),
        ScenarioEnvironment("ns", ("node-0", "node-1")),
        run,
    )
    carry_out(context, Step(1, 1, Drain(("node-0",), timeout_s)))


def test_the_node_is_closed_and_only_its_pods_are_evicted() -> None:
    cluster = FakeCluster()
    cluster.add("a", "node-0")
    cluster.add("b", "node-0")
    cluster.add("c", "node-1")

    drained(cluster)

    assert cluster.patched == {"Node node-0": {"spec": {"unschedulable": True}}}
    assert cluster.evicted == ["a", "b"]


def test_a_pod_that_a_budget_protects_is_tried_again() -> None:
    """A budget has room again when the pod before has been replaced."""
    cluster = FakeCluster(refused=2)
    cluster.add("a", "node-0")

    drained(cluster)

    assert cluster.evicted == ["a"]


def test_the_step_fails_at_the_deadline_and_names_pod_and_budget() -> None:
    cluster = FakeCluster(refused=99)
    cluster.add("a", "node-0")

    with pytest.raises(WaitTimeoutError, match="for node-0 to be drained") as said:
        drained(cluster, timeout_s=0.1)

    assert "evict Pod a with 429" in str(said.value)
    assert "disruption budget stay-up" in str(said.value)


def test_a_refusal_for_another_reason_is_an_error_at_once() -> None:
    """It would not go away by waiting."""
    cluster = FakeCluster(refused=1, status=403)
    cluster.add("a", "node-0")

    with pytest.raises(ApiRefusedError, match="403"):
        drained(cluster)


def test_a_pod_that_nobody_would_replace_is_not_evicted() -> None:
    """`kubectl drain` refuses it, too."""
    cluster = FakeCluster()
    cluster.add("a", "node-0", owner="")

    with pytest.raises(StowageError, match="pod a on node-0 has no controller"):
        drained(cluster)

    assert cluster.evicted == []
