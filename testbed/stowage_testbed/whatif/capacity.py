"""What the nodes have, what is requested of it, and what nobody can use any more."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.whatif.findings import Room

SLOTS = "pods"
"""A node takes so many pods, and each pod needs one of these."""


class Capacity:
    """What each node has and has left, and what each pod class asks for.

    Only amounts count: neither selectors nor taints do.

    Attributes
    ----------
    names
        Of the resources.
    size, free
        Of shape (nodes, resources); a node that is overcommitted has nothing free.
    requests
        By pod class, of shape (resources,).
    """

    def __init__(self, snapshot: pb.Snapshot) -> None:
        self.names = _resources(snapshot)
        nodes, width = snapshot.nodes, len(self.names)
        rows = [
            _row(self.names, one.allocatable, one.allocatable.pods) for one in nodes
        ]
        self.size = np.array(rows, np.int64).reshape(-1, width)
        self.requests = {
            one.id: np.array(_row(self.names, one.requests, 1), np.int64)
            for one in snapshot.pod_classes
        }
        free = self.size.copy()
        place = {node.name: row for row, node in enumerate(nodes)}
        for pod in snapshot.pods:
            if pod.node in place:
                free[place[pod.node]] -= self.requests[pod.class_id]
        self.free = np.maximum(free, 0)


def rooms(snapshot: pb.Snapshot) -> tuple[Room, ...]:
    """Return cpu, memory and each extended resource that some node has.

    What the cluster's own pods request says what fits.
    """
    there = Capacity(snapshot)
    size, free = there.size, there.free
    requests = list(there.requests.values())
    shapes = np.unique(
        np.array(requests, np.int64).reshape(-1, len(there.names)), axis=0
    )
    usable = _usable(free, shapes)
    return tuple(
        Room(
            resource=name,
            capacity=int(size[:, column].sum()),
            free=int(free[:, column].sum()),
            stranded=_stranded(free, shapes, usable, column),
            nodes=int((size[:, column] > 0).sum()),
            free_nodes=int((free[:, column] > 0).sum()),
            largest_free=int(free[:, column].max(initial=0)),
        )
        for column, name in enumerate(there.names)
        if name != SLOTS and size[:, column].any()
    )


def _resources(snapshot: pb.Snapshot) -> tuple[str, ...]:
    extended: set[str] = set()
    for node in snapshot.nodes:
        extended.update(node.allocatable.extended)
    for one in snapshot.pod_classes:
        extended.update(one.requests.extended)
    return ("cpu", "memory", SLOTS, *sorted(extended))


def _row(names: Iterable[str], of: pb.Resources, slots: int) -> list[int]:
    fixed = {"cpu": of.cpu_milli, "memory": of.memory_bytes, SLOTS: slots}
    extended = dict(of.extended)
    return [fixed.get(name, extended.get(name, 0)) for name in names]


def _usable(free: NDArray[np.int64], shapes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each resource whether each node can still give some of it to a pod.

    It can where a pod that asks for the resource finds enough of all others; whether
    it finds enough of this one is another matter: then it is short, not stranded.

    Returns
    -------
    array of shape (resources, nodes)
    """
    found = np.zeros(free.T.shape, np.bool_)
    for shape in shapes:
        short = free < shape
        shortages = short.sum(axis=1)
        for column in np.flatnonzero(shape):
            found[column] |= shortages == short[:, column]
    return found


def _stranded(
    free: NDArray[np.int64],
    shapes: NDArray[np.int64],
    usable: NDArray[np.bool_],
    column: int,
) -> int:
    if not shapes[:, column].any():
        # Nobody asks for it: it is idle, and no other resource is to blame.
        return 0
    return int(free[~usable[column], column].sum())
