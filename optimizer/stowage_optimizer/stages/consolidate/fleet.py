"""A cluster by kinds, where nobody needs to stay at home.

Nodes of equal room that are open to the same pods are one group, and pods of equal
demand that may go to the same nodes are one kind, however many there are. What a node
holds is its content: how many pods of each kind.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from stowage_optimizer.bounds.groups import Groups, at_home, groups_without_homes
from stowage_optimizer.bounds.phase import SCALE, Phase
from stowage_optimizer.bounds.scope import Linear, Scope, arrivals
from stowage_optimizer.bounds.set_packing import placed
from stowage_optimizer.model.problem import Flags, Indices, Ints, Problem
from stowage_optimizer.search.search_arrays import load_of

MANY_CELLS, MOST_CELLS = 100_000, 400_000
"""Groups times kinds: with more there should be fewer groups, and at most. Programs
over half a million take half a minute."""

PARTS = (128, 32, 8)
"""Where there would be too many groups, nodes are alike whose room differs by less
than such a part of the largest room."""

Contents = list[tuple[int, Ints]]
"""Contents of single nodes, each with the group that the node is of."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """Groups of nodes, and the pods that need one of them.

    Parameters
    ----------
    scope
        The pods that need not stay at home, and the room that they have.
    home
        Pods at home by node and kind, shape ``(nodes, kinds)``.
    cost
        What using a node of a group costs more, shape ``(groups,)``.
    exact
        Whether nodes of a group are equal, not only alike.
    always
        Cost of the nodes that are in use whatever happens.
    typical
        What a node costs on average, of those that cost anything. Programs and prices
        count in it, such that their numbers are of one size.
    """

    scope: Scope
    groups: Groups
    home: Indices
    cost: Ints
    exact: bool
    always: int
    typical: int

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
        them, such that bounds are true, or the least, such that contents fit.
    """
    goes = np.flatnonzero(~stays)
    asked = np.column_stack([problem.demand, problem.mask])[problem.kind[goes]]
    if not len(asked):
        return None
    _, first, kind_of, count = np.unique(asked, axis=0, return_index=True, return_inverse=True, return_counts=True)
    kinds, nothing = problem.kind[goes[first]].astype(np.int64), np.zeros(len(first), np.int64)
    scope = Scope(
        problem=problem,
        items=goes,
        kind_of=kind_of,
        kinds=kinds,
        demand=problem.demand[kinds],
        count=count,
        running=nothing,
        free=problem.room,
        room=problem.room,
        objective=Linear(Phase.PLACE, 0, nothing, nothing, nothing, 0),
        requirements=(),
        all_needed=True,
    )
    home, used = at_home(scope), in_use.copy()
    used[problem.home[stays]] = True
    room = np.maximum(problem.room - load_of(problem, stays), home @ scope.demand)
    more = np.where(used, 0, costs)
    openness = np.unique(problem.allowed, axis=1, return_inverse=True)[1]
    alike = [room // np.maximum(1, room.max(axis=0) // parts) for parts in PARTS]
    for size_of in (room, *alike):
        _, first, group, size = np.unique(
            np.column_stack([openness, -more, size_of]),
            axis=0, return_index=True, return_inverse=True, return_counts=True,
        )  # fmt: skip
        if len(first) * len(kinds) <= MANY_CELLS:
            break
    if len(first) * len(kinds) > MOST_CELLS:
        return None
    limits = room[first]
    (np.maximum if outer else np.minimum).at(limits, group, room)
    scope = replace(scope, free=limits[group], room=limits[group])
    come = np.where(arrivals(scope, first), count, 0).astype(np.int32)
    cost = more[first]
    typical = int(cost @ size) // max(1, int(size[cost > 0].sum())) or 1
    # In parts, rounded down. Products may be larger than a machine's integers.
    parts = [one * SCALE // typical for one in cost.tolist()]
    return Fleet(
        scope=scope,
        groups=groups_without_homes(scope, group, limits, come, np.array(parts, np.int64)),
        home=home,
        cost=cost,
        exact=size_of is room,
        always=int(costs[used].sum()),
        typical=typical,
    )


def assign_contents(fleet: Fleet, contents: Contents) -> Indices | None:
    """Return node by item: contents go where most of their pods are at home.

    None if they do not fit after all: dimensions that seemed to be implied by others
    were left out.
    """
    content = np.zeros_like(fleet.home)
    for group in range(len(fleet.cost)):
        nodes = np.flatnonzero(fleet.groups.group == group)
        mine = [one for at, one in contents if at == group]
        for one, node in _most_alike(fleet.home[nodes], mine):
            content[nodes[node]] = mine[one]
    where, problem = placed(fleet.scope, content), fleet.scope.problem
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
