"""Required node affinity: alternatives of requirements on labels and the name."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from stowage_optimizer.constraints.matching import matches_all
from stowage_optimizer.model.node import Node
from stowage_optimizer.model.pod_class import PodClass
from stowage_optimizer.model.selectors import NodeSelectorTerm


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
