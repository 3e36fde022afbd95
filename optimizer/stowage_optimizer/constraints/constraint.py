"""What every constraint on the pair (pod class, node) looks like."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from stowage_optimizer.model.node import Node
from stowage_optimizer.model.pod_class import PodClass


class NodeConstraint(Protocol):
    """Decides which nodes a pod class may newly come to.

    Pods that run on a node may stay there whatever a constraint says: all of them
    are, in Kubernetes' words, ignored during execution.
    """

    def reads(self, pod_class: PodClass) -> Hashable:
        """Return what of the class decides: equal values are allowed equal nodes.

        Thousands of classes share a few values, so that each is looked at once.
        """
        ...

    def allows(self, pod_class: PodClass, node: Node) -> bool:
        """Return whether a pod of ``pod_class`` may be bound to ``node``."""
        ...
