"""Which nodes a pod class may newly come to: every node constraint together."""

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from stowage_optimizer.constraints.device_bins import DeviceBins
from stowage_optimizer.constraints.node_constraints import NodeConstraint, node_constraints
from stowage_optimizer.constraints.resources import ResourceFit, dimensions
from stowage_optimizer.model.node import Node
from stowage_optimizer.model.pod_class import PodClass
from stowage_optimizer.model.snapshot import Snapshot

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class OpenNodes:
    """Nodes that some pods may newly come to.

    Parameters
    ----------
    indices
        Ascending.
    flags
        The same by node, shape ``(nodes,)``.
    """

    indices: tuple[int, ...]
    flags: Flags


class Eligibility:
    """The nodes open to each class, computed once for all classes with equal terms.

    Equal answers are one and the same tuple: 40,000 pods on 5,000 nodes would
    otherwise hold gigabytes of indices.
    """

    def __init__(self, snapshot: Snapshot, devices: DeviceBins | None = None) -> None:
        self._snapshot = snapshot
        self._devices = devices
        self._constraints = node_constraints(snapshot)
        self._alike = AlikeNodes(snapshot)
        self._size = ResourceFit(snapshot.nodes, dimensions(snapshot))
        self._open: dict[tuple[int, Hashable], Flags] = {}
        self._known: dict[tuple[Hashable, ...], OpenNodes] = {}
        self._distinct: dict[bytes, OpenNodes] = {}

    def nodes(self, pod_class: PodClass) -> OpenNodes:
        """Return the nodes that all constraints allow."""
        size = self._size.reads(pod_class)
        key = (*(one.reads(pod_class) for one in self._constraints), size, pod_class.device_requests)
        if key not in self._known:
            allowed = self._size.allowed(size)
            if self._devices is not None:
                allowed = allowed & self._devices.allowed(pod_class)
            for number, constraint in enumerate(self._constraints):
                allowed = allowed & self._open_to(number, constraint, pod_class)
            self._known[key] = self._made(allowed)
        return self._known[key]

    def _made(self, allowed: Flags) -> OpenNodes:
        key = np.packbits(allowed).tobytes()
        if key not in self._distinct:
            indices = tuple(np.flatnonzero(allowed).tolist())
            self._distinct[key] = OpenNodes(indices, allowed)
        return self._distinct[key]

    def _open_to(self, number: int, constraint: NodeConstraint, pod_class: PodClass) -> Flags:
        key = (number, constraint.reads(pod_class))
        found = self._open.get(key)
        if found is None:
            alike = self._alike.examples
            allows = [constraint.allows(pod_class, node) for node in alike]
            found = np.array(allows, np.bool_)[self._alike.number]
            self._open[key] = found
        return found


class AlikeNodes:
    """Nodes that no class of a snapshot distinguishes, but by their room.

    Parameters
    ----------
    examples
        One node of each sort.
    number
        Which sort each node is of, shape ``(nodes,)``.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        keys, names = _mentioned(snapshot)
        sorts: dict[Hashable, int] = {}
        self.examples: list[Node] = []
        number = []
        for node in snapshot.nodes:
            sort = (
                node.unschedulable,
                node.taints,
                *map(node.labels.get, keys),
                node.name if node.name in names else "",
            )
            if sort not in sorts:
                self.examples.append(node)
            number.append(sorts.setdefault(sort, len(sorts)))
        self.number = np.array(number, np.intp)


def _mentioned(snapshot: Snapshot) -> tuple[list[str], set[str]]:
    """Return the labels and the names of nodes that some class asks for."""
    keys: set[str] = set()
    names = {node for _, node in snapshot.forbidden}
    for one in snapshot.classes.values():
        keys.update(one.node_selector)
        for term in chain(one.required_node_affinity, *(volume.terms for volume in one.volume_node_affinity)):
            keys.update(each.key for each in term.match_expressions)
            names.update(*(each.values for each in term.match_fields))
    return sorted(keys), names
