"""How the pods are packed at one moment: counts, utilisation, who is where."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping
from fractions import Fraction

from stowage_testbed.amounts.resources import Resources, add_up
from stowage_testbed.metrics.state import ClusterState


def compute_utilisation(state: ClusterState) -> dict[str, Fraction]:
    """Return, per resource, what the bound pods request of what the nodes have.

    The sum of the requests of bound pods over the sum of what the workload's nodes can
    give, as an exact fraction; 0 where the nodes have none of the resource.
    """
    requested = add_up(pod.requests for pod in state.bound)
    there = add_up(node.resources for node in state.nodes)
    return {name: Fraction(requested[name], there[name]) if there[name] else Fraction(0) for name in state.resources}


def count_placed_by_priority(state: ClusterState) -> dict[int, int]:
    """Return how many pods of each priority are bound, the highest priority first.

    Every priority of the workload is named, also where no pod of it is bound.
    """
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
    """Return what shares a node: the workloads of each node's pods, all sorted.

    The names of the nodes are left out, so that two placements which differ only by
    exchanging equal nodes are the same.
    """
    by_node: dict[str | None, list[str]] = {}
    for pod in state.bound:
        by_node.setdefault(pod.node, []).append(pod.workload)
    return tuple(sorted(tuple(sorted(names)) for names in by_node.values()))


def hash_placement(state: ClusterState) -> str:
    """Return the SHA-256 of the placement, in hexadecimal.

    It covers one line ``workload<TAB>node<TAB>pods`` for each pair, sorted, with an
    empty node for pending pods. Two states have one hash exactly when every workload
    has equally many pods on every node.
    """
    pairs = Counter((pod.workload, pod.node or "") for pod in state.pods)
    lines = [f"{name}\t{node}\t{pods}\n" for (name, node), pods in pairs.items()]
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def is_not_worse(before: Mapping[int, int], after: Mapping[int, int]) -> bool:
    """Return whether ``after`` places at least as well as ``before``.

    Both map a priority to its number of bound pods. Compared from the highest priority
    down: the first priority whose numbers differ decides, as in the order of the
    tiers of Algorithm 1.
    """
    priorities = sorted({*before, *after}, reverse=True)
    return [after.get(priority, 0) for priority in priorities] >= [before.get(priority, 0) for priority in priorities]
