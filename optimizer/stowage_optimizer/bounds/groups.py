"""Nodes that could hold the same pods put together, and dimensions merged into one."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from stowage_optimizer.bounds.scope import Scope, arrivals
from stowage_optimizer.model.problem import Indices, Ints

STEPS = {1: 1, 2: 12, 3: 6, 4: 4}
"""Into how many parts the shares are cut, by number of dimensions."""

SCARCE = 2
"""Dimensions that are mixed finely where there are more of them than that."""


def mixes_of(demand: Ints, room: Ints) -> NDArray[np.float64]:
    """Return shares of the dimensions that sum to 1, shape ``(mixes, dimensions)``.

    Parameters
    ----------
    demand, room
        By kind and by group, shapes ``(kinds, dimensions)`` and ``(groups,
        dimensions)``: where there are many dimensions, the scarcest are mixed finely
        and each of the others stands alone.
    """
    dimensions = demand.shape[1]
    if dimensions in STEPS:
        return _grid(dimensions)
    need = demand.sum(axis=0) / np.maximum(room.mean(axis=0), 1)
    scarce = np.sort(np.argsort(-need, kind="stable")[:SCARCE])
    fine = np.zeros((len(_grid(SCARCE)), dimensions))
    fine[:, scarce] = _grid(SCARCE)
    return np.vstack([fine, np.eye(dimensions), np.full(dimensions, 1 / dimensions)])


def _grid(dimensions: int) -> NDArray[np.float64]:
    steps = STEPS[dimensions]
    whole = [shares for shares in product(range(steps + 1), repeat=dimensions) if sum(shares) == steps]
    return np.array(whole, float) / steps


MOST_CELLS = 4_000_000
"""Nodes times kinds from which contents of nodes take too much memory: 0.6 GiB in all
with 5,000 nodes and 700 kinds."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of nodes that a question cannot distinguish.

    What a node may hold is a pattern: how many pods of each kind stay at home there,
    and how many are there otherwise. Staying is distinguished only where it counts.

    Parameters
    ----------
    group
        Group by node, shape ``(nodes,)``.
    size
        Nodes of each group, shape ``(groups,)``.
    room
        Room for patterns, shape ``(groups, dimensions in use)``.
    alike
        Number by group, the same for groups with the same room whose nodes are open to
        the same pods, shape ``(groups,)``.
    stay, come
        How many of each kind may stay, and be there otherwise, shape ``(groups,
        kinds)``.
    demand
        Shape ``(kinds, dimensions in use)``.
    staying
        Kinds for which staying is distinguished, shape ``(kinds,)``.
    cost
        What a node costs that holds anything, in parts of `SCALE`, shape ``(groups,)``.
    """

    group: Indices
    size: Ints
    room: Ints
    alike: Indices
    stay: Indices
    come: Indices
    demand: Ints
    staying: Ints
    cost: Ints


def make_groups(scope: Scope) -> Groups | None:
    """Return the groups of ``scope``; None if there are too many to look at."""
    nodes, kinds = len(scope.room), len(scope.kinds)
    if nodes * kinds > MOST_CELLS or not nodes or not kinds:
        return None
    weights = [scope.objective.stays, *(row.stays for row in scope.requirements)]
    staying = (np.sum(weights, axis=0) > 0) & (scope.running > 0)
    home = at_home(scope)
    come = arrivals(scope)
    stay_most = np.where(staying, home, 0).astype(np.int32)
    # Of those that are at home here, none can come here.
    others = np.where(come, scope.count - home, 0)
    come_most = np.where(staying, others, others + home).astype(np.int32)
    used = binding(scope.demand, scope.room)
    room, demand = scope.room[:, used], scope.demand[:, used]
    numbers: dict[bytes, int] = {}
    group = np.array(
        [
            numbers.setdefault(room[n].tobytes() + stay_most[n].tobytes() + come_most[n].tobytes(), len(numbers))
            for n in range(nodes)
        ],
        np.int32,
    )
    _, first, size = np.unique(group, return_index=True, return_counts=True)
    rows = np.column_stack([scope.problem.group[first], room[first]])
    _, alike = np.unique(rows, axis=0, return_inverse=True)
    return Groups(
        group=group,
        size=size.astype(np.int64),
        room=np.ascontiguousarray(room[first]),
        alike=alike.astype(np.int32),
        stay=np.ascontiguousarray(stay_most[first]),
        come=np.ascontiguousarray(come_most[first]),
        demand=np.ascontiguousarray(demand),
        staying=staying.astype(np.int64),
        cost=np.zeros_like(size),
    )


def groups_without_homes(scope: Scope, group: Ints, room: Ints, come: Indices, cost: Ints) -> Groups:
    """Return groups of nodes of which nobody needs to know who is at home there.

    Parameters
    ----------
    group, room, come, cost
        As in `Groups`, in all dimensions.
    """
    used = binding(scope.demand, room)
    return Groups(
        group=group.astype(np.int32),
        size=np.bincount(group, minlength=len(room)),
        room=np.ascontiguousarray(room[:, used]),
        alike=np.arange(len(room), dtype=np.int32),
        stay=np.zeros_like(come),
        come=come,
        demand=np.ascontiguousarray(scope.demand[:, used]),
        staying=np.zeros(len(scope.kinds), np.int64),
        cost=cost,
    )


def at_home(scope: Scope) -> Indices:
    """Return the pods at home by node and kind, shape ``(nodes, kinds)``."""
    counts = np.zeros((len(scope.room), len(scope.kinds)), np.int32)
    home = scope.home
    runs = home >= 0
    np.add.at(counts, (home[runs], scope.kind_of[runs]), 1)
    return counts


def binding(demand: Ints, room: Ints) -> list[int]:
    """Return the dimensions that another one does not already imply.

    Leaving one out only widens what fits, so that bounds stay true whatever is here.
    """
    used = [d for d in range(demand.shape[1]) if demand[:, d].any()]
    kept = list(used)
    for one in used:
        if any(_implied(demand, room, one, by) for by in kept if by != one):
            kept.remove(one)
    return kept or used


def _implied(demand: Ints, room: Ints, one: int, by: int) -> bool:
    """Return whether no pod takes a larger share of ``one`` than of ``by`` anywhere."""
    if (room[:, by] <= 0).any() or (demand[:, one] > 0)[demand[:, by] == 0].any():
        return False
    share = demand[:, one] / np.maximum(demand[:, by], 1)
    return bool(share.max() <= (room[:, one] / room[:, by]).min())
