"""The snapshot: everything the optimiser is told of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from optimizer.model.node import Node
from optimizer.model.pod_class import PodClass
from optimizer.model.resources import Resources
from optimizer.model.selectors import LabelSelector


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod; ``node`` None means pending."""

    uid: str
    namespace: str
    name: str
    class_id: str
    node: str | None = None
    movable: bool = False
    immovable_reason: str = ""


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """How many of the selected pods may be disturbed now."""

    namespace: str
    name: str
    selector: LabelSelector | None
    disruptions_allowed: int


@dataclass(frozen=True, slots=True)
class Reservation:
    """Room on a node that is held for somebody else."""

    name: str
    node: str
    held: Resources


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A cluster at one moment. Names are unique and every reference resolves."""

    id: str
    nodes: tuple[Node, ...]
    classes: Mapping[str, PodClass]
    pods: tuple[Pod, ...]
    budgets: tuple[DisruptionBudget, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    forbidden: frozenset[tuple[str, str]] = frozenset()

    def class_of(self, pod: Pod) -> PodClass:
        """Return the class of ``pod``."""
        return self.classes[pod.class_id]

    def priority_of(self, pod: Pod) -> int:
        """Return the priority of ``pod``; larger is more important."""
        return self.classes[pod.class_id].priority
