"""Which nodes a pod class may newly come to: every node constraint together."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.constraints.constraint import NodeConstraint
from optimizer.constraints.cordon import Cordon
from optimizer.constraints.forbidden_pairs import ForbiddenPairs
from optimizer.constraints.node_affinity import NodeAffinity
from optimizer.constraints.node_name import NodeName
from optimizer.constraints.node_selector import NodeSelector
from optimizer.constraints.resources import ResourceFit
from optimizer.constraints.taints import Taints
from optimizer.constraints.volume_affinity import VolumeAffinity
from optimizer.model.pod_class import PodClass
from optimizer.model.snapshot import Snapshot


def node_constraints(snapshot: Snapshot) -> tuple[NodeConstraint, ...]:
    """Return every constraint on pairs of class and node."""
    return (
        NodeName(),
        Cordon(),
        Taints(),
        NodeSelector(),
        NodeAffinity(),
        VolumeAffinity(),
        ForbiddenPairs(snapshot.forbidden),
        ResourceFit(),
    )


def eligible_nodes(
    snapshot: Snapshot,
    pod_class: PodClass,
    constraints: Sequence[NodeConstraint],
) -> tuple[int, ...]:
    """Return the indices of the nodes that all ``constraints`` allow, ascending."""
    return tuple(
        index
        for index, node in enumerate(snapshot.nodes)
        if all(constraint.allows(pod_class, node) for constraint in constraints)
    )
