"""Nodes and pods at one settled moment, and how the pods are packed: counts, utilisation, who is where."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from stowage_testbed.amounts.resources import Resources, add_up, names_of


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


def compute_utilisation(state: ClusterState) -> dict[str, Fraction]:
    """Return, per resource, the exact share of what the nodes have that bound pods request; 0 where they have none."""
    requested = add_up(pod.requests for pod in state.bound)
    there = add_up(node.resources for node in state.nodes)
    return {name: Fraction(requested[name], there[name]) if there[name] else Fraction(0) for name in state.resources}


def count_placed_by_priority(state: ClusterState) -> dict[int, int]:
    """Return how many pods of each priority of the workload are bound, the highest priority first."""
    placed = Counter(pod.priority for pod in state.bound)
    priorities = sorted({pod.priority for pod in state.pods}, reverse=True)
    return {priority: placed[priority] for priority in priorities}


def count_pending_by_workload(state: ClusterState) -> dict[str, int]:
    """Return how many pods of each workload have no node; none is left out as 0."""
    return dict(Counter(pod.workload for pod in state.pending))


def count_pods_per_node(state: ClusterState) -> dict[str, int]:
    """Return the number of bound pods of each node, empty nodes included."""
    placed = Counter(pod.node for pod in state.bound)
    return {node.name: placed[node.name] for node in state.nodes}


def sum_requested_per_node(state: ClusterState) -> dict[str, Resources]:
    """Return what the bound pods of each node request, empty nodes included."""
    requested: dict[str | None, Counter[str]] = defaultdict(Counter)
    for pod in state.bound:
        requested[pod.node].update(pod.requests)
    return {node.name: Resources(requested[node.name]) for node in state.nodes}


def list_placements(state: ClusterState) -> dict[str, tuple[str, ...]]:
    """Return the nodes of each workload's bound pods, sorted, one entry a pod."""
    nodes: dict[str, list[str]] = {}
    for pod in state.bound:
        nodes.setdefault(pod.workload, []).append(str(pod.node))
    return {workload: tuple(sorted(nodes[workload])) for workload in sorted(nodes)}


def list_groups(state: ClusterState) -> tuple[tuple[str, ...], ...]:
    """Return the workloads of each node's pods, sorted and without node names: equal nodes can be exchanged."""
    by_node: dict[str | None, list[str]] = {}
    for pod in state.bound:
        by_node.setdefault(pod.node, []).append(pod.workload)
    return tuple(sorted(tuple(sorted(names)) for names in by_node.values()))


def hash_placement(state: ClusterState) -> str:
    """Return the SHA-256, in hexadecimal, of how many pods of each workload every node has."""
    pairs = Counter((pod.workload, pod.node or "") for pod in state.pods)
    lines = [f"{name}\t{node}\t{pods}\n" for (name, node), pods in pairs.items()]
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def is_not_worse(before: Mapping[int, int], after: Mapping[int, int]) -> bool:
    """Return whether ``after`` binds at least as well: the first priority that differs decides, highest first."""
    priorities = sorted({*before, *after}, reverse=True)
    return [after.get(priority, 0) for priority in priorities] >= [before.get(priority, 0) for priority in priorities]
