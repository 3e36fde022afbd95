"""Pairs that the scheduler's own filters refused when a plan was replayed."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from stowage_optimizer.model.node import Node
from stowage_optimizer.model.pod_class import PodClass


@dataclass(frozen=True, slots=True)
class ForbiddenPairs:
    """Keeps each class off the nodes it was refused on."""

    pairs: frozenset[tuple[str, str]]
    _refused: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        refused = frozenset(class_id for class_id, _ in self.pairs)
        object.__setattr__(self, "_refused", refused)

    def reads(self, pod_class: PodClass) -> Hashable:
        """Return the class's id, None if it was refused nowhere."""
        return pod_class.id if pod_class.id in self._refused else None

    def allows(self, pod_class: PodClass, node: Node) -> bool:
        """Return whether the pair was not refused."""
        return (pod_class.id, node.name) not in self.pairs
