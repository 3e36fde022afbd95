"""Volumes' node affinity: a bound volume is only where it can be reached."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from stowage_optimizer.constraints.node_affinity import matches_term
from stowage_optimizer.model.node import Node
from stowage_optimizer.model.pod_class import PodClass


@dataclass(frozen=True, slots=True)
class VolumeAffinity:
    """Keeps pods off nodes that one of their volumes cannot be reached from."""

    def reads(self, pod_class: PodClass) -> Hashable:
        """Return the volumes' alternatives."""
        return pod_class.volume_node_affinity

    def allows(self, pod_class: PodClass, node: Node) -> bool:
        """Return whether each volume has an alternative that ``node`` matches."""
        return all(
            any(matches_term(term, node) for term in terms)
            for terms in pod_class.volume_node_affinity
        )
