"""Which nodes a pod class may newly come to: every node constraint together."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from stowage_optimizer.constraints.node_constraints import (
    NodeConstraint,
    node_constraints,
)
from stowage_optimizer.constraints.resources import ResourceFit, dimensions
from stowage_optimizer.model.pod_class import PodClass
from stowage_optimizer.model.snapshot import Snapshot

Flags = NDArray[np.bool_]


class Eligibility:
    """The nodes open to each class, computed once for all classes with equal terms.

    Equal answers are one and the same tuple: 40,000 pods on 5,000 nodes would
    otherwise hold gigabytes of indices.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._constraints = node_constraints(snapshot)
        self._size = ResourceFit(snapshot.nodes, dimensions(snapshot))
        self._open: dict[tuple[int, Hashable], Flags] = {}
        self._allowed: dict[tuple[Hashable, ...], tuple[Flags, tuple[int, ...]]] = {}
        self._tuples: dict[bytes, tuple[int, ...]] = {}

    def nodes(self, pod_class: PodClass) -> tuple[int, ...]:
        """Return the indices of the nodes that all constraints allow, ascending."""
        reads = tuple(one.reads(pod_class) for one in self._constraints)
        if reads not in self._allowed:
            allowed = np.ones(len(self._snapshot.nodes), np.bool_)
            for number, constraint in enumerate(self._constraints):
                allowed &= self._open_to(number, constraint, pod_class)
            self._allowed[reads] = allowed, self._indices(allowed)
        allowed, indices = self._allowed[reads]
        size = self._size.allowed(pod_class)
        return indices if size is None else self._indices(allowed & size)

    def _indices(self, allowed: Flags) -> tuple[int, ...]:
        key = np.packbits(allowed).tobytes()
        if key not in self._tuples:
            self._tuples[key] = tuple(np.flatnonzero(allowed).tolist())
        return self._tuples[key]

    def _open_to(
        self, number: int, constraint: NodeConstraint, pod_class: PodClass
    ) -> Flags:
        key = (number, constraint.reads(pod_class))
        found = self._open.get(key)
        if found is None:
            found = self._open[key] = np.fromiter(
                (constraint.allows(pod_class, node) for node in self._snapshot.nodes),
                np.bool_,
                len(self._snapshot.nodes),
            )
        return found
