"""Resources: what pods take of a node, in every dimension (NodeResourcesFit).

The dimensions are CPU, memory, ephemeral storage, the number of pods, and every
extended resource that some pod asks for. Pods that request nothing of a dimension are
never refused because of it, as in the scheduler. Room that is held for others counts as
used.
"""

from collections.abc import Iterator, Sequence, Set
from math import gcd

import numpy as np
from numpy.typing import NDArray

from stowage_optimizer.model.node import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Node, Resources
from stowage_optimizer.model.pod_class import PodClass
from stowage_optimizer.model.snapshot import Snapshot

Amounts = tuple[int, ...]
"""One amount a dimension, in the order of `dimensions`."""


class ResourceFit:
    """Keeps pods off nodes that are too small for them even when empty."""

    def __init__(self, nodes: Sequence[Node], names: tuple[str, ...]) -> None:
        self._names = names
        sizes: dict[Amounts, int] = {}
        offers = [offer(node.allocatable, names) for node in nodes]
        number = [sizes.setdefault(one, len(sizes)) for one in offers]
        self._number = np.array(number, np.intp)
        self._sizes = np.array(list(sizes), np.int64).reshape(-1, len(names))

    def reads(self, pod_class: PodClass) -> bytes:
        """Return what of the class decides: which sizes of nodes have room."""
        wanted = np.array(demand(pod_class, self._names), np.int64)
        fits = ((wanted <= self._sizes) | (wanted == 0)).all(axis=1)
        return bytes(fits)

    def allowed(self, reads: bytes) -> NDArray[np.bool_]:
        """Return by node whether the empty one has room, given what `reads` said."""
        return np.frombuffer(reads, np.bool_)[self._number]


def dimensions(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the names of the resources that matter in ``snapshot``."""
    extended = {name for pod_class in snapshot.classes.values() for name in pod_class.requests.extended}
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


def held_room(snapshot: Snapshot, names: tuple[str, ...]) -> Iterator[tuple[str, Amounts]]:
    """Yield the node and the amounts, by dimension, of each reservation."""
    for reservation in snapshot.reservations:
        yield reservation.node, offer(reservation.held, names)


def scale(room: tuple[Amounts, ...], demands: Set[Amounts]) -> tuple[tuple[Amounts, ...], dict[Amounts, Amounts]]:
    """Return ``room``, and each of ``demands``, in the largest exact unit.

    Parameters
    ----------
    room
        Shape ``(nodes, dimensions)``.
    """
    if not demands:
        return room, {}
    units = tuple(gcd(*amounts) or 1 for amounts in zip(*demands, strict=True))
    return (
        tuple(_divide(amounts, units) for amounts in room),
        {amounts: _divide(amounts, units) for amounts in demands},
    )


def _divide(amounts: Amounts, units: tuple[int, ...]) -> Amounts:
    return tuple(amount // unit for amount, unit in zip(amounts, units, strict=True))
