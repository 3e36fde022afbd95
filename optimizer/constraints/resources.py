"""Resources: what pods take of a node, in every dimension (NodeResourcesFit).

The dimensions are CPU, memory, ephemeral storage, the number of pods, and every
extended resource that some pod asks for. Pods that ask for nothing of a dimension
are never refused because of it, as in the scheduler.
"""

from __future__ import annotations

from dataclasses import dataclass

from optimizer.model.node import Node
from optimizer.model.pod_class import PodClass
from optimizer.model.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    PODS,
    Resources,
)
from optimizer.model.snapshot import Snapshot

Amounts = tuple[int, ...]
"""One amount a dimension, in the order of `dimensions`."""


@dataclass(frozen=True, slots=True)
class ResourceFit:
    """Keeps pods off nodes that are too small for them even when empty."""

    def allows(self, pod_class: PodClass, node: Node) -> bool:
        """Tell whether the class fits the empty node."""
        offered = node.allocatable.amounts()
        wanted = _wanted(pod_class)
        return all(
            amount <= offered.get(name, 0) for name, amount in wanted.items() if amount
        )


def dimensions(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the names of the resources that matter in ``snapshot``."""
    extended = {
        name
        for pod_class in snapshot.classes.values()
        for name in pod_class.requests.extended
    }
    return (CPU, MEMORY, EPHEMERAL_STORAGE, PODS, *sorted(extended))


def demand(pod_class: PodClass, names: tuple[str, ...]) -> Amounts:
    """Return what one pod of the class takes, by dimension."""
    wanted = _wanted(pod_class)
    return tuple(wanted.get(name, 0) for name in names)


def offer(resources: Resources, names: tuple[str, ...]) -> Amounts:
    """Return ``resources`` by dimension."""
    amounts = resources.amounts()
    return tuple(amounts.get(name, 0) for name in names)


def _wanted(pod_class: PodClass) -> dict[str, int]:
    return {**pod_class.requests.amounts(), PODS: 1}
