"""The pod's own nodeName: the one node it may run on."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from stowage_optimizer.model.node import Node
from stowage_optimizer.model.pod_class import PodClass


@dataclass(frozen=True, slots=True)
class NodeName:
    """Keeps pods that name a node off every other one."""

    def reads(self, pod_class: PodClass) -> Hashable:
        """Return the name."""
        return pod_class.node_name

    def allows(self, pod_class: PodClass, node: Node) -> bool:
        """Return whether the class names no node or this one."""
        return pod_class.node_name in ("", node.name)
