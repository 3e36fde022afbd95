"""Which nodes could go: those without pods, but for what a DaemonSet puts on each."""

from __future__ import annotations

from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.snapshot import Snapshot

EVERYWHERE = "daemonset"
"""Why a pod may not be moved that would go with its node."""


def nodes_of_others(snapshot: Snapshot, packing: Packing) -> frozenset[int]:
    """Return the nodes that pods outside of ``packing`` keep in use, by index."""
    in_play = {item.pod_uid for item in packing.items}
    index = {name: node for node, name in enumerate(packing.node_names)}
    return frozenset(
        index[pod.node]
        for pod in snapshot.pods
        if pod.node is not None
        and pod.uid not in in_play
        and (pod.movable or pod.immovable_reason != EVERYWHERE)
    )


def nodes_in_use(assignment: Assignment, others: frozenset[int]) -> frozenset[int]:
    """Return every node in use after ``assignment``."""
    return others | {node for node in assignment if node is not None}
