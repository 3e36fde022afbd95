"""Pairs that the scheduler's own filters refused when a plan was replayed."""

from __future__ import annotations

from dataclasses import dataclass

from optimizer.model.node import Node
from optimizer.model.pod_class import PodClass


@dataclass(frozen=True, slots=True)
class ForbiddenPairs:
    """Keeps each class off the nodes it was refused on."""

    pairs: frozenset[tuple[str, str]]

    def allows(self, pod_class: PodClass, node: Node) -> bool:
        """Tell whether the pair was not refused."""
        return (pod_class.id, node.name) not in self.pairs
