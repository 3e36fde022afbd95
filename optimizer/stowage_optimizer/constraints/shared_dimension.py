"""A constraint between the pods of one node, put as one more thing that nodes offer.

Every strategy and every bound knows capacities; what a capacity expresses exactly costs
them nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SharedDimension:
    """One more dimension of every node.

    Parameters
    ----------
    takes
        What one pod takes, by class id; others take nothing.
    capacity
        What each limited node offers.
    unlimited
        Indices of the nodes that the constraint does not concern.
    """

    takes: Mapping[str, int]
    capacity: int
    unlimited: frozenset[int] = frozenset()

    def offer(self, node: int, present: Counter[str]) -> int:
        """Return what the node of index ``node`` offers.

        Parameters
        ----------
        node
            Index of the node.
        present
            Pods of the snapshot by class id; an unlimited node has room for all.
        """
        if node not in self.unlimited:
            return self.capacity
        return sum(amount * present[name] for name, amount in self.takes.items())
