"""What no plan can do better, from counting alone: no search is needed for it."""

from __future__ import annotations

from collections import Counter

from stowage_optimizer.model.packing import Packing
from stowage_optimizer.strategies.consolidate.in_use import nodes_in_use


def fewest_nodes(packing: Packing, others: frozenset[int]) -> int:
    """Return a number of nodes in use that no assignment goes below.

    Of each dimension, the roomiest nodes beside those that are in use anyway must
    have as much as all pods take. A node that is overcommitted may stay so.

    Parameters
    ----------
    packing
        The problem; all of its pods run.
    others
        Nodes that are in use whatever happens.
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
