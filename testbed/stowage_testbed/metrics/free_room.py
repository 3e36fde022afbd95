"""What is free on each node at the end of a run, and which pods would still fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stowage_testbed.metrics.packing import pods_per_node, requested_per_node
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.metrics.record_state import state_at_end
from stowage_testbed.metrics.resource import RESOURCES, Resource, amount

Amounts = NDArray[np.int64]
Marks = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Shape:
    """What a pod asks of a node; the replicas of a workload have one shape."""

    cpu_milli: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class FreeRoom:
    """Free amounts of every node, 0 where a node is overcommitted.

    Attributes
    ----------
    free
        Per resource, shape (nodes,).
    pods
        How many more pods each node takes, shape (nodes,).
    capacity
        Per resource, what all nodes have together, free or not.
    """

    free: Mapping[Resource, Amounts]
    pods: Amounts
    capacity: Mapping[Resource, int]

    def has(self, resource: Resource, request: int) -> Marks:
        """Return, for each node, whether it has a pod's slot and so much of a resource.

        A node that takes no more pods has nothing to give, whatever lies there.
        """
        return (self.pods >= 1) & (self.free[resource] >= request)

    def fits(self, shape: Shape) -> Marks:
        """Return, for each node, whether a pod of the shape fits there."""
        return self.has("cpu", shape.cpu_milli) & self.has("memory", shape.memory_bytes)


def free_room(record: RunRecord) -> FreeRoom:
    """Return what is free at the window's end."""
    state = state_at_end(record)
    held = pods_per_node(state)
    return FreeRoom(
        free={
            resource: _amounts(
                [amount(resource, node) - requested[node.name] for node in record.nodes]
            )
            for resource in RESOURCES
            for requested in [requested_per_node(state, resource)]
        },
        pods=_amounts([node.pods - held[node.name] for node in record.nodes]),
        capacity={
            resource: sum(amount(resource, node) for node in record.nodes)
            for resource in RESOURCES
        },
    )


def shapes(record: RunRecord) -> Counter[Shape]:
    """Return the shapes of the scenario's pods, and how many pods have each."""
    return Counter(Shape(pod.cpu_milli, pod.memory_bytes) for pod in record.pods)


def _amounts(values: list[int]) -> Amounts:
    return np.maximum(np.array(values, dtype=np.int64), 0)
