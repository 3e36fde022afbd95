"""How well a plan meets the preferences of the pods that it touches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from stowage_optimizer.constraints.preferences import Ints, Preferences
from stowage_optimizer.model.relations import NO_DOMAIN


class PreferenceScores:
    """Where all pods are, and what that is worth to those that a plan touches.

    Parameters
    ----------
    preferences
        The preferences of every class of a touched pod.
    """

    def __init__(self, preferences: Preferences) -> None:
        self._preferences = preferences
        pods = preferences.pods
        sizes = [int(one.domain_of.max(initial=NO_DOMAIN)) + 1 for one in pods]
        # The last entry is of nodes without the label, where no pod counts.
        self._selected = [np.zeros(size + 1, np.int64) for size in sizes]
        self._carriers = [np.zeros(size + 1, np.int64) for size in sizes]
        self._carried: defaultdict[str, list[int]] = defaultdict(list)
        self._selecting: defaultdict[str, list[int]] = defaultdict(list)
        for index, one in enumerate(pods):
            self._carried[one.carrier].append(index)
            for class_id in one.selected:
                self._selecting[class_id].append(index)

    def indifferent(self, class_id: str) -> bool:
        """Return whether it makes no difference where pods of the class are."""
        worth = self._preferences.nodes[class_id]
        return not (
            np.ptp(worth) or self._carried[class_id] or self._selecting[class_id]
        )

    def put(self, class_id: str, node: int, *, touched: bool) -> None:
        """Count a pod on ``node``; of the touched ones the preferences count too."""
        self._count(class_id, node, 1, touched)

    def take(self, class_id: str, node: int) -> None:
        """Take a touched pod off ``node``."""
        self._count(class_id, node, -1, touched=True)

    def worth(self, class_id: str) -> Ints:
        """Return what one more touched pod would add on each node, ``(nodes,)``.

        What it is worth to the pod itself, and to all the others that it would join.
        """
        found = self._preferences.nodes[class_id].copy()
        for counts, preferences in (
            (self._selected, self._carried[class_id]),
            (self._carriers, self._selecting[class_id]),
        ):
            self._add(found, counts, preferences)
        return found

    def _add(
        self, found: Ints, counts: Sequence[Ints], preferences: Sequence[int]
    ) -> None:
        for index in preferences:
            preference = self._preferences.pods[index]
            found += preference.weight * counts[index][preference.domain_of]

    def _count(self, class_id: str, node: int, sign: int, touched: bool) -> None:
        for index in self._selecting[class_id]:
            domain = self._preferences.pods[index].domain_of[node]
            if domain != NO_DOMAIN:
                self._selected[index][domain] += sign
        if not touched:
            return
        for index in self._carried[class_id]:
            domain = self._preferences.pods[index].domain_of[node]
            if domain != NO_DOMAIN:
                self._carriers[index][domain] += sign
