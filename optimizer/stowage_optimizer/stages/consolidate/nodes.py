"""Which nodes are in use, and how few could be, from counting alone."""

from __future__ import annotations

from collections import Counter

from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.problem import NOWHERE
from stowage_optimizer.search.search_arrays import load_of

EVERYWHERE = "daemonset"
"""Why a pod may not be moved that would go with its node."""


def nodes_of_others(packing: Packing) -> frozenset[int]:
    """Return the nodes that pods outside of ``packing`` keep in use, by index."""
    index = {name: node for node, name in enumerate(packing.node_names)}
    pods = packing.snapshot.pods
    return frozenset(
        index[pods.node[pod]]
        for pod in packing.staying
        if pods.movable[pod] or pods.immovable_reason[pod] != EVERYWHERE
    )


def nodes_in_use(assignment: Assignment, others: frozenset[int]) -> frozenset[int]:
    """Return every node in use after ``assignment``."""
    return others | {node for node in assignment if node is not None}


def fewest_nodes(packing: Packing, others: frozenset[int]) -> int:
    """Return a number of nodes in use that no assignment goes below.

    Of each dimension, the roomiest nodes beside those that are in use anyway must
    have as much as all pods take. A node that is overcommitted may stay so.
    """
    loads = load_of(packing.problem, packing.home != NOWHERE)
    needed = 0
    for dimension in range(len(packing.room[0]) if packing.room else 0):
        at_home = loads[:, dimension].tolist()
        most = {
            node: max(amounts[dimension], at_home[node])
            for node, amounts in enumerate(packing.room)
        }
        missing = sum(at_home) - sum(most.pop(node) for node in others)
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
    on_node = Counter(packing.current)
    counts = sorted(count for node, count in on_node.items() if node not in others)
    return sum(counts[: max(0, emptied)])
