"""What is placed where: as multisets and as one hash, free of random pod names."""

from __future__ import annotations

import hashlib
from collections import Counter

from stowage_testbed.metrics.state import ClusterState


def placements(state: ClusterState) -> dict[str, tuple[str, ...]]:
    """Return the nodes of each workload's bound pods, sorted, one entry a pod."""
    nodes: dict[str, list[str]] = {}
    for pod in state.bound:
        nodes.setdefault(pod.workload, []).append(str(pod.node))
    return {workload: tuple(sorted(nodes[workload])) for workload in sorted(nodes)}


def groups(state: ClusterState) -> tuple[tuple[str, ...], ...]:
    """Return what shares a node: the workloads of each node's pods, all sorted.

    The names of the nodes are left out, so that two placements which differ only by
    exchanging equal nodes are the same.
    """
    by_node: dict[str | None, list[str]] = {}
    for pod in state.bound:
        by_node.setdefault(pod.node, []).append(pod.workload)
    return tuple(sorted(tuple(sorted(names)) for names in by_node.values()))


def placement_hash(state: ClusterState) -> str:
    """Return the SHA-256 of the placement, in hexadecimal.

    It covers one line ``workload<TAB>node<TAB>pods`` for each pair, sorted, with an
    empty node for pending pods. Two states have one hash exactly when every workload
    has equally many pods on every node.
    """
    pairs = Counter((pod.workload, pod.node or "") for pod in state.pods)
    lines = [f"{name}\t{node}\t{pods}\n" for (name, node), pods in pairs.items()]
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()
