"""Which pairs of pod class and node are allowed, one function a constraint.

They are the scheduler's filters: NodeUnschedulable (a cordon), TaintToleration,
nodeSelector, required node affinity, the node affinity of bound volumes; and the pairs
that its own filters refused when a plan was replayed.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from stowage_optimizer.constraints.pod_selection import matches_all
from stowage_optimizer.model.node import Node, Taint, TaintEffect
from stowage_optimizer.model.pod_class import PodClass, Toleration, TolerationOperator
from stowage_optimizer.model.selectors import NodeSelectorTerm
from stowage_optimizer.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class NodeConstraint:
    """Decides which nodes a pod class may newly come to.

    Pods that run on a node may stay there whatever a constraint says: all of them
    are, in Kubernetes' words, ignored during execution.

    Parameters
    ----------
    reads
        Returns what of the class decides: equal values are allowed equal nodes.
        Thousands of classes share a few values, so that each is looked at once.
    allows
        Returns whether a pod of the class may be bound to the node.
    """

    reads: Callable[[PodClass], Hashable]
    allows: Callable[[PodClass, Node], bool]


def node_constraints(snapshot: Snapshot) -> tuple[NodeConstraint, ...]:
    """Return every constraint on pairs of class and node but that of size."""
    refused = frozenset(class_id for class_id, _ in snapshot.forbidden)
    return (
        NodeConstraint(lambda one: one.tolerations, _is_open),
        NodeConstraint(lambda one: one.tolerations, is_tolerated),
        NodeConstraint(lambda one: frozenset(one.node_selector.items()), has_wanted_labels),
        NodeConstraint(lambda one: one.required_node_affinity, meets_affinity),
        NodeConstraint(lambda one: one.volume_node_affinity, _reaches_volumes),
        NodeConstraint(
            lambda one: one.id if one.id in refused else None,
            lambda one, node: (one.id, node.name) not in snapshot.forbidden,
        ),
    )


def _is_open(pod_class: PodClass, node: Node) -> bool:
    return not node.unschedulable or any(tolerates(toleration, UNSCHEDULABLE) for toleration in pod_class.tolerations)


def is_tolerated(pod_class: PodClass, node: Node) -> bool:
    """Return whether the class tolerates every hard taint of ``node``."""
    return all(
        any(tolerates(toleration, taint) for toleration in pod_class.tolerations)
        for taint in node.taints
        if taint.effect is not TaintEffect.PREFER_NO_SCHEDULE
    )


def has_wanted_labels(pod_class: PodClass, node: Node) -> bool:
    """Return whether ``node`` has every label that the class selects."""
    return all(node.labels.get(key) == value for key, value in pod_class.node_selector.items())


def meets_affinity(pod_class: PodClass, node: Node) -> bool:
    """Return whether there is no required affinity, or one alternative holds."""
    terms = pod_class.required_node_affinity
    return not terms or any(matches_term(term, node) for term in terms)


def _reaches_volumes(pod_class: PodClass, node: Node) -> bool:
    return all(any(matches_term(term, node) for term in one.terms) for one in pod_class.volume_node_affinity)


UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", TaintEffect.NO_SCHEDULE)
"""A cordoned node counts as tainted so; a pod that tolerates it may come."""


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Return whether ``toleration`` tolerates ``taint``."""
    if toleration.effect not in (None, taint.effect):
        return False
    if toleration.key not in ("", taint.key):
        return False
    if toleration.operator is TolerationOperator.EXISTS:
        return True
    return toleration.operator is TolerationOperator.EQUAL and toleration.value == taint.value


def matches_term(term: NodeSelectorTerm, node: Node) -> bool:
    """Return whether every requirement of ``term`` holds for ``node``."""
    if not term.match_expressions and not term.match_fields:
        return False
    fields = {"metadata.name": node.name}
    return matches_all(node.labels, term.match_expressions) and matches_all(fields, term.match_fields)
