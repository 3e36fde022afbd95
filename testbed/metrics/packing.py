"""How well the pods are packed: counts and utilisation of one cluster state."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from testbed.metrics.state import ClusterState

RESOURCES = ("cpu", "memory")
"""The resources that utilisation is given for."""


def utilisation(state: ClusterState) -> dict[str, Fraction]:
    """Return, per resource, what the bound pods request of what the nodes have.

    The sum of the requests of bound pods over the sum of what the workload's nodes can
    give, as an exact fraction; 0 where the nodes have none of the resource.
    """
    bound = state.bound
    return {
        "cpu": _share(
            sum(pod.cpu_milli for pod in bound),
            sum(node.cpu_milli for node in state.nodes),
        ),
        "memory": _share(
            sum(pod.memory_bytes for pod in bound),
            sum(node.memory_bytes for node in state.nodes),
        ),
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


def _share(part: int, whole: int) -> Fraction:
    return Fraction(part, whole) if whole else Fraction(0)
