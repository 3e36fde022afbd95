"""What goes into a simulation and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
        ReplicaSets, by which it spreads pods without constraints of their own,
        namespaces, volumes and their claims, disruption budgets.
    changes
        What happens meanwhile, with the number of pods that it comes ``after``, and one
        of ``node`` (a ``v1`` Node), ``nodeGone`` and ``podGone``.
    arrival
        ``InTurn``: each pod when the scheduler has come to rest. ``AtOnce``: all of
        them before it begins.
    replace
        Preempted pods come back, as their controllers would bring them.
    measure
        Whether a measurement is asked for.
    """

    id: str
    nodes: tuple[Manifest, ...]
    pods: tuple[Manifest, ...]
    objects: tuple[Manifest, ...] = ()
    changes: tuple[Manifest, ...] = ()
    arrival: str = "InTurn"
    replace: bool = False
    measure: bool = False

    def content(self) -> dict[str, Any]:
        """Return the instance as ``stowage-simulate`` reads it."""
        return {
            "id": self.id,
            "nodes": self.nodes,
            "pods": self.pods,
            "objects": self.objects,
            "changes": self.changes,
            "arrival": self.arrival,
            "replace": self.replace,
            "measure": self.measure,
        }


@dataclass(frozen=True, slots=True)
class Measurement:
    """What an instance took, by the simulator's own clock.

    Attributes
    ----------
    pods_s
        From the arrival of the first pod until the scheduler came to rest, in seconds.
    cpu_s
        Processor time that the process used meanwhile, in seconds.
    arrived
        Pods that arrived in that time.
    counters
        By how much the counters of Stowage's plugins grew, by name and labels.
    """

    pods_s: float
    cpu_s: float
    arrived: int
    counters: Mapping[str, float] = field(default_factory=dict)


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
        Pods that preemption removed, also those that have come back.
    measurement
        None if it was not asked for.
    """

    id: str
    nodes: Mapping[str, str | None]
    evicted: tuple[str, ...] = ()
    measurement: Measurement | None = None

    def pending(self) -> list[str]:
        """Return the pods without a node, in alphabetical order."""
        return sorted(pod for pod, node in self.nodes.items() if node is None)
