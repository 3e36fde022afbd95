"""Which nodes are in use, and how few could be, from counting alone."""

from __future__ import annotations

from collections import Counter

from stowage_optimizer.model.packing import Assignment, Packing

EVERYWHERE = "daemonset"
"""Why a pod may not be moved that would go with its node."""


def nodes_of_others(packing: Packing) -> frozenset[int]:
    """Return the nodes that pods outside of ``packing`` keep in use, by index."""
    in_play = {item.pod_uid for item in packing.items}
    index = {name: node for node, name in enumerate(packing.node_names)}
    return frozenset(
        index[pod.node]
        for pod in packing.snapshot.pods
        if pod.node is not None
        and pod.uid not in in_play
        and (pod.movable or pod.immovable_reason != EVERYWHERE)
    )


def nodes_not_worth_it(packing: Packing, min_gain_per_move: float) -> frozenset[int]:
    """Return the nodes that hold more pods than an emptied node may cost moves."""
    on_node = Counter(item.home for item in packing.items if item.home is not None)
    return frozenset(
        node for node, count in on_node.items() if count * min_gain_per_move > 1
    )


def nodes_in_use(assignment: Assignment, others: frozenset[int]) -> frozenset[int]:
    """Return every node in use after ``assignment``."""
    return others | {node for node in assignment if node is not None}


def fewest_nodes(packing: Packing, others: frozenset[int]) -> int:
    """Return a number of nodes in use that no assignment goes below.

    Of each dimension, the roomiest nodes beside those that are in use anyway must
    have as much as all pods take. A node that is overcommitted may stay so.
    """
    needed = 0
    for dimension in range(len(packing.room[0]) if packing.room else 0):
        at_home: Counter[int] = Counter()
        for item in packing.items:
            if item.home is not None:
                at_home[item.home] += item.demand[dimension]
        most = {
            node: max(amounts[dimension], at_home[node])
            for node, amounts in enumerate(packing.room)
        }
        missing = at_home.total() - sum(most.pop(node) for node in others)
        roomiest = sorted(most.values(), reverse=True)
        count = 0
        while missing > 0 and count < len(roomiest):
            missing -= roomiest[count]
            count += 1
        needed = max(needed, count)
    return len(others) + needed


def fewest_moves(packing: Packing, others: frozenset[int], after: int) -> int:
    """Return a number of moves that no assignment to ``after`` nodes goes below.

    At least so many nodes must be emptied, and all pods on them move.
    """
    emptied = len(nodes_in_use(packing.current, others)) - after
    on_node = Counter(item.home for item in packing.items)
    counts = sorted(count for node, count in on_node.items() if node not in others)
    return sum(counts[: max(0, emptied)])
