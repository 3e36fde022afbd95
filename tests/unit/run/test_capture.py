"""From watched objects to the state that figures are computed from."""

from __future__ import annotations

from typing import Any

from outcomes import GB, an_outcome

from stowage_testbed.metrics.state import NodeState
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.observe.state import State
from stowage_testbed.run.steps.observed_moment import observed_state

SCENARIO = an_outcome().scenario


def a_node(name: str) -> dict[str, Any]:
    return {
        "metadata": {"uid": name, "name": name},
        "status": {"allocatable": {"cpu": "1500m", "memory": "4G"}},
    }


def a_pod(name: str, workload: str, **status: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "uid": name,
            "namespace": status.pop("namespace", "ns"),
            "name": name,
            "labels": {"stowage.dev/workload": workload},
        },
        "spec": {
            "nodeName": status.pop("node", ""),
            "containers": [{"resources": {"requests": {"memory": "2G"}}}],
        },
        "status": status,
    }


def captured(*objects: tuple[str, dict[str, Any]]) -> Any:
    state = State()
    for kind, body in objects:
        state.apply(Change(kind, Verb.ADDED, Receipt(0, 0), body))
    return observed_state(state, SCENARIO, "ns")


def test_nodes_count_with_what_they_really_offer() -> None:
    """What the API server holds decides, not what the scenario asked for."""
    state = captured(("Node", a_node("n-0")))

    assert state.nodes == (NodeState("n-0", 1500, 4 * GB),)


def test_nodes_of_others_do_not_count() -> None:
    """The release's node would dilute the utilisation."""
    state = captured(("Node", a_node("n-0")), ("Node", a_node("stowage-host")))

    assert [node.name for node in state.nodes] == ["n-0"]


def test_pods_carry_the_workload_and_its_requests() -> None:
    """Names of ReplicaSet pods are random; the workload is what is compared."""
    state = captured(
        ("Node", a_node("n-0")), ("Pod", a_pod("a-x7k2p", "a", node="n-0"))
    )

    (pod,) = state.pods
    assert (pod.workload, pod.node, pod.memory_bytes) == ("a", "n-0", 2 * GB)


def test_a_pending_pod_has_no_node() -> None:
    """The metrics recognise pending pods by it."""
    (pod,) = captured(("Node", a_node("n-0")), ("Pod", a_pod("b-1", "b"))).pods

    assert pod.node is None


def test_finished_pods_and_other_namespaces_are_left_out() -> None:
    """They hold no room of the scenario's."""
    state = captured(
        ("Node", a_node("n-0")),
        ("Pod", a_pod("a-1", "a", phase="Succeeded")),
        ("Pod", a_pod("a-2", "a", namespace="elsewhere")),
    )

    assert state.pods == ()
