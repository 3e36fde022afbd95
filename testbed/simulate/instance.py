"""What goes into a simulation and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Manifest = Mapping[str, Any]
"""A Kubernetes object as the API server is given it."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A cluster to be filled.

    Attributes
    ----------
    id
        Names the instance in messages.
    nodes
        ``v1`` Nodes; without ``allocatable`` all of their capacity is.
    pods
        ``v1`` Pods in the order of arrival, with ``spec.priority`` where they have one.
        A pod with ``spec.nodeName`` is placed already.
    objects
        What else the scheduler looks at, with ``apiVersion`` and ``kind``: Services and
        ReplicaSets, by which it spreads pods that do not say how, namespaces, volumes
        and their claims, disruption budgets.
    """

    id: str
    nodes: tuple[Manifest, ...]
    pods: tuple[Manifest, ...]
    objects: tuple[Manifest, ...] = ()

    def content(self) -> dict[str, Any]:
        """Return the instance as ``stowage-simulate`` reads it."""
        return {
            "id": self.id,
            "nodes": self.nodes,
            "pods": self.pods,
            "objects": self.objects,
        }


@dataclass(frozen=True, slots=True)
class Placements:
    """Where the pods of an instance are.

    Attributes
    ----------
    id
        The instance's.
    nodes
        The node of each pod, by ``namespace/name``; None if it is pending.
    evicted
        Pods that preemption removed.
    """

    id: str
    nodes: Mapping[str, str | None]
    evicted: tuple[str, ...] = ()

    def pending(self) -> list[str]:
        """Return the pods without a node, in alphabetical order."""
        return sorted(pod for pod, node in self.nodes.items() if node is None)
