"""The packing problem as flat arrays, pods of one kind and nodes of one group together.

A kind is what replicas share: demand, tier and the nodes they may come to. Nodes of a
group are interchangeable: the same room, and open to the same kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from stowage_optimizer.model.bins import Bins

Ints = NDArray[np.int64]
Indices = NDArray[np.int32]
Flags = NDArray[np.bool_]

NOWHERE = -1
"""The node of a pod that has none."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What compiled loops need of a packing; nothing of it is ever written to.

    Parameters
    ----------
    demand
        Amounts by kind and dimension, shape ``(kinds, dimensions)``.
    tier
        Index into the packing's tiers by kind, 0 the highest, shape ``(kinds,)``.
    mask
        Row of ``allowed`` by kind, shape ``(kinds,)``.
    allowed
        Nodes that pods may newly come to, shape ``(masks, nodes)``. A pod may always
        stay at home.
    kind
        Kind by item, in the packing's order, shape ``(items,)``.
    home
        Node by item or ``NOWHERE``, shape ``(items,)``.
    room
        Room for items, shape ``(nodes, dimensions)``; may be negative.
    group
        Group by node, numbered from 0 in the nodes' order, shape ``(nodes,)``.
    bins
        Devices that pods share or that overlap; None if no pod asks for any.
    worth
        What placing an item counts by kind, shape ``(kinds,)``; None where all count 1.
    """

    demand: Ints
    tier: Indices
    mask: Indices
    allowed: Flags
    kind: Indices
    home: Indices
    room: Ints
    group: Indices
    tiers: int
    bins: Bins | None = None
    worth: Ints | None = None

    def counted(self, placed: Flags) -> Ints:
        """Return by tier what placing the items ``placed`` counts, shape ``(tiers,)``."""
        kind = self.kind[placed]
        if self.worth is None:
            return np.bincount(self.tier[kind], minlength=self.tiers)
        # Floats of this size are whole numbers.
        return np.bincount(self.tier[kind], self.worth[kind], self.tiers).astype(np.int64)


def worth_of(problem: Problem, kinds: Ints | Indices) -> Ints:
    """Return what placing one of each of the ``kinds`` counts."""
    return np.ones(len(kinds), np.int64) if problem.worth is None else problem.worth[kinds]


def make_problem(
    kinds: Sequence[tuple[tuple[int, ...], int, tuple[int, ...]]],
    kind: Indices,
    home: Indices,
    room: Sequence[tuple[int, ...]],
    tiers: int,
    *,
    bins: Bins | None = None,
    worth: Sequence[int] = (),
) -> Problem:
    """Return the problem of items in the order of ``kind`` and ``home``.

    Parameters
    ----------
    kinds
        Demand, tier and open nodes of each kind.
    worth
        What placing one of each kind counts; 1 where it is not given.
    """
    masks: dict[tuple[int, ...], int] = {}
    mask = [masks.setdefault(nodes, len(masks)) for _, _, nodes in kinds]
    nodes, width = len(room), len(room[0]) if room else 0
    allowed = np.zeros((len(masks), nodes), np.bool_)
    for eligible, row in masks.items():
        allowed[row, list(eligible)] = True
    rooms = np.array(room, np.int64).reshape(nodes, width)
    demand = np.array([amounts for amounts, _, _ in kinds], np.int64)
    return Problem(
        demand=demand.reshape(len(kinds), width),
        tier=np.array([tier for _, tier, _ in kinds], np.int32),
        mask=np.array(mask, np.int32),
        allowed=allowed,
        kind=kind,
        home=home,
        room=rooms,
        group=_groups(rooms, allowed, bins),
        tiers=tiers,
        bins=bins,
        worth=np.array(worth, np.int64) if set(worth) - {1} else None,
    )


def _groups(room: Ints, allowed: Flags, bins: Bins | None) -> Indices:
    numbers: dict[bytes, int] = {}
    columns = np.packbits(allowed, axis=0).T
    rows = [room[node].tobytes() + column.tobytes() for node, column in enumerate(columns)]
    if bins is not None:
        devices = zip(bins.layout, bins.left, bins.held, strict=True)
        rows = [row + b"".join(one.tobytes() for one in more) for row, more in zip(rows, devices, strict=True)]
    return np.array([numbers.setdefault(row, len(numbers)) for row in rows], np.int32)
