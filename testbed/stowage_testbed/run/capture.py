"""From the watched state to the state that figures are computed from."""

from __future__ import annotations

from collections.abc import Collection

from stowage_testbed.metrics.state import ClusterState, NodeState, PodState
from stowage_testbed.observe.state import State
from stowage_testbed.quantity import parse_cpu, parse_memory
from stowage_testbed.scenario.model import Scenario


def capture(
    state: State, scenario: Scenario, namespace: str, nodes: Collection[str]
) -> ClusterState:
    """Return the scenario's nodes, with what they can give, and its pods.

    The release's namespace and its node are no part of it, nor are pods of others.
    Nodes are in the order of their names, pods in the order of theirs.
    """
    bodies = {str(body["metadata"]["name"]): body for body in state.bodies("Node")}
    workloads = {workload.name: workload for workload in scenario.workload}
    return ClusterState(
        nodes=tuple(
            NodeState(
                name,
                parse_cpu(bodies[name]["status"]["allocatable"]["cpu"]),
                parse_memory(bodies[name]["status"]["allocatable"]["memory"]),
            )
            for name in sorted(nodes)
        ),
        pods=tuple(
            PodState(
                workload=pod.workload,
                node=pod.node or None,
                cpu_milli=workloads[pod.workload].cpu_milli,
                memory_bytes=workloads[pod.workload].memory_bytes,
                priority=pod.priority,
                name=pod.name,
            )
            for pod in state.pods(namespace)
            if pod.workload in workloads
        ),
    )
