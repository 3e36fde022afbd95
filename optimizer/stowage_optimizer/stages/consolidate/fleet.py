"""A cluster by kinds, where nobody needs to stay at home.

Nodes of equal room that are open to the same pods are one group, and pods of equal
demand that may go to the same nodes are one kind, however many there are. What a node
holds is its content: how many pods of each kind.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stowage_optimizer.bounds.groups import binding
from stowage_optimizer.model.problem import Flags, Indices, Ints, Problem
from stowage_optimizer.search.search_arrays import load_of

MANY_CELLS, MOST_CELLS = 100_000, 400_000
"""Groups times kinds: with more there should be fewer groups, and at most. Programs
over half a million take half a minute."""

PARTS = (128, 32, 8)
"""Where there would be too many groups, nodes are alike whose room differs by less
than such a part of the largest room."""

STAYS = -1
"""Kind of an item that stays at home."""

Contents = list[tuple[int, Ints]]
"""Contents of single nodes, each with the group that the node is of."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """Groups of nodes, and the pods that need one of them.

    Parameters
    ----------
    kind
        Kind by item, or `STAYS`, shape ``(items,)``.
    count
        Pods of each kind, shape ``(kinds,)``.
    demand, room
        Shapes ``(kinds, dimensions in use)`` and ``(groups, dimensions in use)``.
    home
        Pods at home by node and kind, shape ``(nodes, kinds)``.
    group
        Group by node, shape ``(nodes,)``.
    size, cost
        Nodes of each group, and what using one costs more, shape ``(groups,)``.
    come
        How many pods of each kind may be on a node, shape ``(groups, kinds)``.
    exact
        Whether nodes of a group are equal, not only alike.
    always
        Cost of the nodes that are in use whatever happens.
    """

    problem: Problem
    kind: Ints
    count: Ints
    demand: Ints
    room: Ints
    home: Indices
    group: Ints
    size: Ints
    cost: Ints
    come: Indices
    exact: bool
    always: int

    @property
    def typical(self) -> int:
        """What a node costs on average, of those that cost anything.

        Programs and prices count in it, such that their numbers are of one size.
        """
        nodes = int(self.size[self.cost > 0].sum())
        return int(self.cost @ self.size) // nodes if nodes else 1

    def total(self, contents: Contents) -> int:
        """Return what the nodes in use cost if these are the ``contents`` of some."""
        return self.always + sum(int(self.cost[group]) for group, _ in contents)


def make_fleet(problem: Problem, stays: Flags, in_use: Flags, costs: Ints, *, outer: bool) -> Fleet | None:
    """Return the fleet of ``problem``; None if it has too many kinds, or none.

    Parameters
    ----------
    problem
        All of its pods run. An overcommitted node may keep what it has, and get
        something else of that size.
    stays
        Items that stay at home, shape ``(items,)``.
    in_use
        Nodes that are in use whatever happens, shape ``(nodes,)``.
    costs
        Cost by node, shape ``(nodes,)``. Nodes of a group cost the same.
    outer
        Where nodes of a group are only alike, whether it has the most room of any of
        them, such that limits are true, or the least, such that contents fit.
    """
    nodes, goes = len(problem.room), np.flatnonzero(~stays)
    asked = np.column_stack([problem.demand, problem.mask])[problem.kind[goes]]
    if not len(asked):
        return None
    asked, kind_of = np.unique(asked, axis=0, return_inverse=True)
    demand, kinds = asked[:, :-1], len(asked)
    home = np.zeros((nodes, kinds), np.int32)
    np.add.at(home, (problem.home[goes], kind_of), 1)
    used = in_use.copy()
    used[problem.home[stays]] = True
    room = np.maximum(problem.room - load_of(problem, stays), home @ demand)
    more = np.where(used, 0, costs)
    openness = np.unique(problem.allowed, axis=1, return_inverse=True)[1]
    alike = [room // np.maximum(1, room.max(axis=0) // parts) for parts in PARTS]
    for size_of in (room, *alike):
        _, first, group, size = np.unique(
            np.column_stack([openness, -more, size_of]),
            axis=0, return_index=True, return_inverse=True, return_counts=True,
        )  # fmt: skip
        if len(first) * kinds <= MANY_CELLS:
            break
    if len(first) * kinds > MOST_CELLS:
        return None
    limits = room[first]
    (np.maximum if outer else np.minimum).at(limits, group, room)
    count = np.bincount(kind_of, minlength=kinds)
    open_to = problem.allowed[asked[:, -1]][:, first].T
    fits = (demand <= limits[:, None]).all(axis=2)
    kind = np.full(len(problem.kind), STAYS)
    kind[goes] = kind_of
    kept = binding(demand, limits)
    return Fleet(
        problem=problem,
        kind=kind,
        count=count,
        demand=np.ascontiguousarray(demand[:, kept]),
        room=np.ascontiguousarray(limits[:, kept]),
        home=home,
        group=group,
        size=size,
        cost=more[first],
        come=np.where(open_to & fits, count, 0).astype(np.int32),
        exact=size_of is room,
        always=int(costs[used].sum()),
    )


def shared_out(fleet: Fleet, contents: Contents) -> Indices | None:
    """Return node by item: contents go where most of their pods are at home.

    None if they do not fit after all: dimensions that seemed to be implied by others
    were left out.
    """
    content = np.zeros_like(fleet.home)
    for group in range(len(fleet.size)):
        nodes = np.flatnonzero(fleet.group == group)
        mine = [one for at, one in contents if at == group]
        for one, node in _most_alike(fleet.home[nodes], mine):
            content[nodes[node]] = mine[one]
    where = _places(fleet, content)
    problem = fleet.problem
    load = np.zeros_like(problem.room)
    np.add.at(load, where, problem.demand[problem.kind])
    now = load_of(problem, np.ones(len(where), np.bool_))
    return where if (load <= np.maximum(problem.room, now)).all() else None


def _most_alike(home: Indices, contents: list[Ints]) -> Iterator[tuple[int, int]]:
    """Yield content and node, first those that have most pods in common."""
    alike = np.zeros((len(contents), len(home)), np.int64)
    for number, one in enumerate(contents):
        has = np.flatnonzero(one)
        alike[number] = np.minimum(home[:, has], one[has]).sum(axis=1)
    order = np.argsort(-alike, axis=None, kind="stable")
    waiting, free = set(range(len(contents))), set(range(len(home)))
    for at in order.tolist():
        if not waiting:
            return
        one, node = divmod(at, len(home))
        if one in waiting and node in free:
            waiting.remove(one)
            free.remove(node)
            yield one, node


def _places(fleet: Fleet, content: Indices) -> Indices:
    """Return node by item, as many at home as ``content`` lets stay."""
    nodes = fleet.problem.home.copy()
    goes = np.flatnonzero(fleet.kind != STAYS)
    order = goes[np.lexsort((nodes[goes], fleet.kind[goes]))]
    kind, home = fleet.kind[order], nodes[order]
    place = np.column_stack([kind, home])
    _, first, which = np.unique(place, axis=0, return_index=True, return_inverse=True)
    stay = np.minimum(content, fleet.home)
    leaves = np.arange(len(order)) - first[which] >= stay[home, kind]
    # Both in the order of kinds: who leaves, and where there is room for a kind.
    come = (content - stay).T
    to = np.nonzero(come)[1]
    nodes[order[leaves]] = np.repeat(to, come[come > 0])
    return nodes
