"""What the figures are computed from: nodes and pods at one settled moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

Resource = Literal["cpu", "memory"]

RESOURCES: tuple[Resource, ...] = ("cpu", "memory")


class Sized(Protocol):
    """A node with what it can give, or a pod with what it requests."""

    @property
    def cpu_milli(self) -> int:
        """Thousandths of a core."""
        ...

    @property
    def memory_bytes(self) -> int:
        """Bytes."""
        ...


def amount(resource: Resource, of: Sized) -> int:
    """Return the milli-cores or bytes that a node can give or a pod requests."""
    return of.cpu_milli if resource == "cpu" else of.memory_bytes


@dataclass(frozen=True, slots=True)
class NodeState:
    """A workload node and what it has to give; ``pods`` is its limit of pods."""

    name: str
    cpu_milli: int
    memory_bytes: int
    pods: int = 110


@dataclass(frozen=True, slots=True)
class PodState:
    """A pod of the workload. ``node`` is None while it is pending.

    ``workload`` is the name that the scenario gives the pod's controller: names of
    ReplicaSet pods are random and mean nothing from run to run.
    """

    workload: str
    node: str | None
    cpu_milli: int
    memory_bytes: int
    priority: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The nodes and the workload's pods; the release and its node are left out."""

    nodes: tuple[NodeState, ...]
    pods: tuple[PodState, ...]

    @property
    def bound(self) -> tuple[PodState, ...]:
        """Return the pods that have a node."""
        return tuple(pod for pod in self.pods if pod.node is not None)

    @property
    def pending(self) -> tuple[PodState, ...]:
        """Return the pods that have none."""
        return tuple(pod for pod in self.pods if pod.node is None)
