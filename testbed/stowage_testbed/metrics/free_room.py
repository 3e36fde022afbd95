"""What nodes have left, and which pods could still use it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from stowage_testbed.amounts.resources import PODS, Resources, names_of

Amounts = NDArray[np.int64]
Marks = NDArray[np.bool_]


class FreeRoom:
    """Sizes and free amounts of nodes, by resource: arrays of shape (nodes,); nothing is free on an overcommitted node.

    ``nodes`` has what each node has, by its name; ``held`` a node and what is taken there, for each pod. ``names`` are
    the resources without pods.
    """

    def __init__(self, nodes: Mapping[str, Resources], held: Iterable[tuple[str, Resources]]) -> None:
        taken: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for node, requests in held:
            taken[node].update(requests)
        self.names = names_of(nodes.values())
        self.size: dict[str, Amounts] = {}
        self.free: dict[str, Amounts] = {}
        for name in (*self.names, PODS):
            self.size[name] = np.array([one[name] for one in nodes.values()], np.int64)
            left = [one[name] - taken[node][name] for node, one in nodes.items()]
            self.free[name] = np.maximum(np.array(left, np.int64), 0)
        self._nothing = np.zeros(len(nodes), np.int64)

    def fits(self, shape: Resources) -> Marks:
        """Return, for each node, whether a pod that asks for so much fits there."""
        found: Marks = self._nothing == 0
        for name, amount in shape.items():
            found &= self.free.get(name, self._nothing) >= amount
        return found

    def count_stranded(self, shapes: Iterable[Resources], resource: str) -> int:
        """Return what is free on nodes that lack something else for every shape that asks for the resource."""
        others = {one.without(resource) for one in shapes if resource in one}
        if not others:
            return 0
        usable = np.any([self.fits(one) for one in others], axis=0)
        return sum(self.free[resource][~usable].tolist())
