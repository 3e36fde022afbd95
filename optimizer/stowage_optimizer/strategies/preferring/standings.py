"""How well the wishes of the pods that a plan touches are met, while these change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from stowage_optimizer.constraints.wishes import Ints, Wishes
from stowage_optimizer.model.relations import NO_DOMAIN


class Standings:
    """Where all pods are, and what that is worth to those that a plan touches.

    Parameters
    ----------
    wishes
        The wishes of every class of a touched pod.
    """

    def __init__(self, wishes: Wishes) -> None:
        self._wishes = wishes
        company = wishes.company
        sizes = [int(one.domain_of.max(initial=NO_DOMAIN)) + 1 for one in company]
        # The last entry is of nodes without the label, where nobody counts.
        self._selected = [np.zeros(size + 1, np.int64) for size in sizes]
        self._carriers = [np.zeros(size + 1, np.int64) for size in sizes]
        self._carried: defaultdict[str, list[int]] = defaultdict(list)
        self._selecting: defaultdict[str, list[int]] = defaultdict(list)
        for index, one in enumerate(company):
            self._carried[one.carrier].append(index)
            for class_id in one.selected:
                self._selecting[class_id].append(index)

    def indifferent(self, class_id: str) -> bool:
        """Tell whether it makes no difference where pods of the class are."""
        worth = self._wishes.nodes[class_id]
        return not (
            np.ptp(worth) or self._carried[class_id] or self._selecting[class_id]
        )

    def put(self, class_id: str, node: int, *, touched: bool) -> None:
        """Count a pod on ``node``; of the touched ones the wishes count too."""
        self._count(class_id, node, 1, touched)

    def take(self, class_id: str, node: int) -> None:
        """Take a touched pod off ``node``."""
        self._count(class_id, node, -1, touched=True)

    def worth(self, class_id: str) -> Ints:
        """Return what one more touched pod would add on each node, ``(nodes,)``.

        What it is worth to the pod itself, and to all the others that it would join.
        """
        found = self._wishes.nodes[class_id].copy()
        for counts, wishes in (
            (self._selected, self._carried[class_id]),
            (self._carriers, self._selecting[class_id]),
        ):
            self._add(found, counts, wishes)
        return found

    def _add(self, found: Ints, counts: Sequence[Ints], wishes: Sequence[int]) -> None:
        for index in wishes:
            wish = self._wishes.company[index]
            found += wish.weight * counts[index][wish.domain_of]

    def _count(self, class_id: str, node: int, sign: int, touched: bool) -> None:
        for index in self._selecting[class_id]:
            domain = self._wishes.company[index].domain_of[node]
            if domain != NO_DOMAIN:
                self._selected[index][domain] += sign
        if not touched:
            return
        for index in self._carried[class_id]:
            domain = self._wishes.company[index].domain_of[node]
            if domain != NO_DOMAIN:
                self._carriers[index][domain] += sign
