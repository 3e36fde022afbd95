"""How well the pods are packed: counts and utilisation of one cluster state."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from stowage_testbed.metrics.resource import RESOURCES, Resource, amount
from stowage_testbed.metrics.state import ClusterState


def utilisation(state: ClusterState) -> dict[str, Fraction]:
    """Return, per resource, what the bound pods request of what the nodes have.

    The sum of the requests of bound pods over the sum of what the workload's nodes can
    give, as an exact fraction; 0 where the nodes have none of the resource.
    """
    return {
        resource: _share(
            sum(amount(resource, pod) for pod in state.bound),
            sum(amount(resource, node) for node in state.nodes),
        )
        for resource in RESOURCES
    }


def placed_by_priority(state: ClusterState) -> dict[int, int]:
    """Return how many pods of each priority are bound, the highest priority first.

    Every priority of the workload is named, also where no pod of it is bound.
    """
    placed = Counter(pod.priority for pod in state.bound)
    priorities = sorted({pod.priority for pod in state.pods}, reverse=True)
    return {priority: placed[priority] for priority in priorities}


def pending_by_workload(state: ClusterState) -> dict[str, int]:
    """Return how many pods of each workload have no node; none is left out as 0."""
    return dict(Counter(pod.workload for pod in state.pending))


def pods_per_node(state: ClusterState) -> dict[str, int]:
    """Return the number of bound pods of each node, empty nodes included."""
    placed = Counter(pod.node for pod in state.bound)
    return {node.name: placed[node.name] for node in state.nodes}


def requested_per_node(state: ClusterState, resource: Resource) -> dict[str, int]:
    """Return what the bound pods of each node request, empty nodes included."""
    requested = {node.name: 0 for node in state.nodes}
    for pod in state.bound:
        if pod.node in requested:
            requested[pod.node] += amount(resource, pod)
    return requested


def _share(part: int, whole: int) -> Fraction:
    return Fraction(part, whole) if whole else Fraction(0)
