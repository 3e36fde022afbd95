"""From watched objects to the state that figures are computed from."""

from __future__ import annotations

from typing import Any

from amounts import size, taken
from outcomes import GB, an_outcome
from seen_states import state_of

from stowage_testbed.metrics.state import NodeState
from stowage_testbed.run.steps.observed_moment import observe_state

SCENARIO = an_outcome().scenario


def a_node(name: str) -> dict[str, Any]:
    return {
        "metadata": {"uid": name, "name": name},
        "status": {"allocatable": {"cpu": "1500m", "memory": "4G", "pods": "110"}},
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
    return observe_state(state_of(*objects), SCENARIO, "ns")


def test_nodes_of_the_scenario_count_with_what_they_really_offer() -> None:
    """The API server decides; and the release's node would dilute the utilisation."""
    state = captured(("Node", a_node("n-0")), ("Node", a_node("stowage-host")))

    assert state.nodes == (NodeState("n-0", size(1500, 4 * GB)),)


def test_pods_carry_the_workload_and_its_requests() -> None:
    """Names of ReplicaSet pods are random; a pending pod is known by having no node."""
    bound, pending = captured(
        ("Node", a_node("n-0")),
        ("Pod", a_pod("a-x7k2p", "a", node="n-0")),
        ("Pod", a_pod("b-1", "b")),
    ).pods

    assert (bound.workload, bound.node) == ("a", "n-0")
    assert bound.requests == taken(0, 2 * GB)
    assert pending.node is None


def test_finished_pods_and_other_namespaces_are_left_out() -> None:
    """They hold no room of the scenario's."""
    state = captured(
        ("Node", a_node("n-0")),
        ("Pod", a_pod("a-1", "a", phase="Succeeded")),
        ("Pod", a_pod("a-2", "a", namespace="elsewhere")),
    )

    assert state.pods == ()
