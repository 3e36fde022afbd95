"""Cordoned nodes take no new pods (the NodeUnschedulable filter)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from stowage_optimizer.constraints.taints import tolerates
from stowage_optimizer.model.node import Node, Taint, TaintEffect
from stowage_optimizer.model.pod_class import PodClass

UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", TaintEffect.NO_SCHEDULE)
"""A cordoned node counts as tainted so; a pod that tolerates it may come."""


@dataclass(frozen=True, slots=True)
class Cordon:
    """Keeps pods off unschedulable nodes."""

    def reads(self, pod_class: PodClass) -> Hashable:
        """Return the tolerations."""
        return pod_class.tolerations

    def allows(self, pod_class: PodClass, node: Node) -> bool:
        """Return whether the node is open or the class tolerates that it is not."""
        return not node.unschedulable or any(
            tolerates(toleration, UNSCHEDULABLE) for toleration in pod_class.tolerations
        )
