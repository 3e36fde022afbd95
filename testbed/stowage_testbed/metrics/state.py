"""What the figures are computed from: nodes and pods at one settled moment."""

from __future__ import annotations

from dataclasses import dataclass

from stowage_testbed.amounts.resources import Resources, names_of


@dataclass(frozen=True, slots=True)
class NodeState:
    """A workload node and what it has to give; of pods so many as it takes."""

    name: str
    resources: Resources


@dataclass(frozen=True, slots=True)
class PodState:
    """A pod of the workload, named as its controller in the scenario; ``requests`` counts it as one of pods."""

    workload: str
    node: str | None
    requests: Resources
    priority: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The nodes and the workload's pods; the release and its node are left out."""

    nodes: tuple[NodeState, ...]
    pods: tuple[PodState, ...]

    @property
    def resources(self) -> tuple[str, ...]:
        """Return cpu and memory, and what else nodes have; pods are counted apart."""
        return names_of(node.resources for node in self.nodes)

    @property
    def bound(self) -> tuple[PodState, ...]:
        """Return the pods that have a node."""
        return tuple(pod for pod in self.pods if pod.node is not None)

    @property
    def pending(self) -> tuple[PodState, ...]:
        """Return the pods that have none."""
        return tuple(pod for pod in self.pods if pod.node is None)
