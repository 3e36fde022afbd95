"""The pod's nodeSelector: labels that the node must carry."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from stowage_optimizer.model.node import Node
from stowage_optimizer.model.pod_class import PodClass


@dataclass(frozen=True, slots=True)
class NodeSelector:
    """Keeps pods off nodes without the wanted labels."""

    def reads(self, pod_class: PodClass) -> Hashable:
        """Return the wanted labels."""
        return frozenset(pod_class.node_selector.items())

    def allows(self, pod_class: PodClass, node: Node) -> bool:
        """Return whether ``node`` has every wanted label with its value."""
        return all(
            node.labels.get(key) == value
            for key, value in pod_class.node_selector.items()
        )
