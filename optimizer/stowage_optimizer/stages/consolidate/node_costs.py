"""Which nodes are in use, what they cost, and how little could do, from counting."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import accumulate
from math import gcd

from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.problem import NOWHERE
from stowage_optimizer.search.search_arrays import load_of

WITH_ITS_NODE = frozenset({"daemonset", "mirror", "static"})
"""Why a pod may not be moved that would go with its node."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What nodes cost in whole units, such that costs of plans are multiples of one.

    Parameters
    ----------
    of
        Cost by node.
    unit_micros
        The unit as a price; 0 where no node has one, and each counts as one.
    """

    of: tuple[int, ...]
    unit_micros: int = 0

    def total(self, nodes: Iterable[int]) -> int:
        """Return what ``nodes`` cost together."""
        return sum(self.of[node] for node in nodes)


def costs_of(packing: Packing) -> Costs:
    """Return what the nodes of ``packing`` cost.

    Where any has a price, those without one cost nothing: they are in use anyway.
    """
    prices = [node.hourly_price_micros for node in packing.snapshot.nodes]
    if not any(prices):
        return Costs((1,) * len(packing.room))
    unit = gcd(*prices)
    return Costs(tuple(price // unit for price in prices), unit)


def without_unpriced_room(packing: Packing) -> Packing:
    """Return ``packing`` without room on nodes of unknown price that are not in use.

    Where others have a price, nothing is known to be saved by going there.
    """
    nodes = packing.snapshot.nodes
    if not any(node.hourly_price_micros for node in nodes):
        return packing
    used = nodes_in_use(packing.current, nodes_of_others(packing))
    room = tuple(
        amounts if node.hourly_price_micros or at in used else (0,) * len(amounts)
        for at, (node, amounts) in enumerate(zip(nodes, packing.room, strict=True))
    )
    return replace(packing, room=room)


def nodes_of_others(packing: Packing) -> frozenset[int]:
    """Return the nodes that are in use whatever a plan does, by index.

    Pods outside of ``packing`` are there, or autoscalers may not remove them.
    """
    index = {name: node for node, name in enumerate(packing.node_names)}
    pods = packing.snapshot.pods
    kept = frozenset(
        index[pods.node[pod]]
        for pod in packing.staying
        if pods.movable[pod] or pods.immovable_reason[pod] not in WITH_ITS_NODE
    )
    return kept | {at for at, node in enumerate(packing.snapshot.nodes) if node.irremovable_reason}


def nodes_in_use(assignment: Assignment, others: frozenset[int]) -> frozenset[int]:
    """Return every node in use after ``assignment``."""
    return others | {node for node in assignment if node is not None}


def least_cost(packing: Packing, others: frozenset[int], costs: Costs) -> int:
    """Return a cost of the nodes in use that no assignment goes below.

    Of each dimension, nodes beside those that are in use anyway must have as much as
    all pods take. A node that is overcommitted may stay so.
    """
    loads = load_of(packing.problem, packing.home != NOWHERE)
    needed = 0
    for dimension in range(len(packing.room[0]) if packing.room else 0):
        at_home = loads[:, dimension].tolist()
        most = {node: max(amounts[dimension], at_home[node]) for node, amounts in enumerate(packing.room)}
        missing = sum(at_home) - sum(most.pop(node) for node in others)
        offers = [(costs.of[node], room) for node, room in most.items() if room > 0]
        needed = max(needed, _least_cost(missing, offers))
    return costs.total(others) + needed


def _least_cost(missing: int, offers: list[tuple[int, int]]) -> int:
    """Return a cost that no choice of ``offers``, of cost and room, with so much room goes below."""
    # The cheapest by room come first, and of the last one a part is enough. What that one
    # costs by room is a price of room. Any price proves a bound, in whole numbers: all
    # that is missing at this price, less what is offered below it.
    cheapest = sorted(offers, key=lambda one: one[0] / one[1])
    bought = list(accumulate(room for _, room in cheapest))
    last = bisect_left(bought, missing)
    if last == len(cheapest):
        return sum(cost for cost, _ in offers)
    cost, room = cheapest[last]
    below = sum(max(0, cost * more - one * room) for one, more in offers)
    return max(0, -((below - cost * missing) // room))


def fewest_moves(packing: Packing, others: frozenset[int], costs: Costs, after: int) -> int:
    """Return a number of moves that no assignment goes below which costs ``after``.

    Nodes that cost as much as is saved must be emptied, and all pods on them move.
    """
    saved = costs.total(nodes_in_use(packing.current, others)) - after
    offers = [
        (pods, costs.of[node])
        for node, pods in Counter(packing.current).items()
        if node is not None and node not in others and costs.of[node]
    ]
    return _least_cost(saved, offers)
