"""Which pairs of pod class and node are allowed, one class a constraint.

They are the scheduler's filters: NodeName, NodeUnschedulable (a cordon),
TaintToleration, nodeSelector, required node affinity, the node affinity of bound
volumes; and the pairs that its own filters refused when a plan was replayed.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Protocol

from stowage_optimizer.constraints.pod_selection import matches_all
from stowage_optimizer.model.node import Node, Taint, TaintEffect
from stowage_optimizer.model.pod_class import PodClass, Toleration, TolerationOperator
from stowage_optimizer.model.selectors import NodeSelectorTerm


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


@dataclass(frozen=True, slots=True)
class Taints:
    """Keeps pods off nodes whose taints they do not tolerate."""

    def reads(self, pod_class: PodClass) -> Hashable:
        """Return the tolerations."""
        return pod_class.tolerations

    def allows(self, pod_class: PodClass, node: Node) -> bool:
        """Return whether every hard taint of ``node`` is tolerated."""
        return all(
            any(tolerates(toleration, taint) for toleration in pod_class.tolerations)
            for taint in node.taints
            if taint.effect is not TaintEffect.PREFER_NO_SCHEDULE
        )


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Return whether ``toleration`` tolerates ``taint``."""
    if toleration.effect not in (None, taint.effect):
        return False
    if toleration.key not in ("", taint.key):
        return False
    if toleration.operator is TolerationOperator.EXISTS:
        return True
    return (
        toleration.operator is TolerationOperator.EQUAL
        and toleration.value == taint.value
    )


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


@dataclass(frozen=True, slots=True)
class NodeName:
    """Keeps pods that name a node off every other one."""

    def reads(self, pod_class: PodClass) -> Hashable:
        """Return the name."""
        return pod_class.node_name

    def allows(self, pod_class: PodClass, node: Node) -> bool:
        """Return whether the class names no node or this one."""
        return pod_class.node_name in ("", node.name)


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


@dataclass(frozen=True, slots=True)
class NodeAffinity:
    """Keeps pods off nodes that none of their terms matches."""

    def reads(self, pod_class: PodClass) -> Hashable:
        """Return the alternatives."""
        return pod_class.required_node_affinity

    def allows(self, pod_class: PodClass, node: Node) -> bool:
        """Return whether there is no requirement, or one alternative holds."""
        terms = pod_class.required_node_affinity
        return not terms or any(matches_term(term, node) for term in terms)


def matches_term(term: NodeSelectorTerm, node: Node) -> bool:
    """Return whether every requirement of ``term`` holds for ``node``."""
    if not term.match_expressions and not term.match_fields:
        return False
    fields = {"metadata.name": node.name}
    return matches_all(node.labels, term.match_expressions) and matches_all(
        fields, term.match_fields
    )


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
