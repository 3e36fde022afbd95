"""Among the replicas on one node, the cheapest are disrupted.

Which of them a strategy names makes no difference to its plan. So the pods with the
lowest ``controller.kubernetes.io/pod-deletion-cost`` go, then the youngest, as a
ReplicaSet that shrinks would choose; and of those that go, the cheapest are evicted and
the others moved.
"""

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stowage_optimizer.model.packing import Assignment, Packing, as_nodes
from stowage_optimizer.model.problem import NOWHERE, Flags
from stowage_optimizer.model.solution import Publish, Solution
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.stages.stage import Stage

Places = NDArray[np.int64]


@dataclass(frozen=True)
class DisruptCheapest(Stage):
    """Of the equal replicas on a node the cheapest are disrupted."""

    packing: Packing

    def improve(self, known: Solution, budget: TimeBudget, publish: Publish) -> Solution:
        """Return ``known`` with other replicas disrupted in place of dearer ones."""
        del budget, publish
        return replace(known, assignment=self._swapped(known.assignment))

    def pass_on(self, found: Solution, budget: TimeBudget) -> Solution | None:
        """Return the same of ``found``."""
        del budget
        return replace(found, assignment=self._swapped(found.assignment))

    def _swapped(self, assignment: Assignment) -> Assignment:
        home = self.packing.home
        away = (home != NOWHERE) & (as_nodes(assignment) != home)
        # If all of a class cost the same there is no choice.
        disrupted: list[int] = []
        if away.any():
            disrupted = np.flatnonzero(away & self._varied).tolist()
        if not disrupted:
            return assignment
        going: defaultdict[int, list[int]] = defaultdict(list)
        # The cheapest are evicted.
        for index in sorted(disrupted, key=lambda one: assignment[one] is not None):
            going[int(self._places[index])].append(index)
        swapped = list(assignment)
        for place, members in going.items():
            for index in members:
                swapped[index] = self.packing.current[index]
            cheapest = self._cheapest(place, members)
            for index, member in zip(cheapest, members, strict=False):
                swapped[index] = assignment[member]
        return tuple(swapped)

    def _cheapest(self, place: int, members: list[int]) -> list[int]:
        rank = {index: number for number, index in enumerate(members)}
        pods, number = self.packing.snapshot.pods, self.packing.pod_numbers

        def cost(index: int) -> tuple[int, int, int]:
            pod = int(number[index])
            # Among pods of equal cost those already named stay named.
            ranked = rank.get(index, len(rank))
            return pods.deletion_cost[pod], pods.age_s[pod], ranked

        order, ordered = self._by_place
        first, last = np.searchsorted(ordered, (place, place + 1))
        return sorted(order[first:last].tolist(), key=cost)

    @cached_property
    def _places(self) -> Places:
        """A number by item, the same for the replicas on one node."""
        packing = self.packing
        class_number = packing.snapshot.pods.class_number[packing.pod_numbers]
        width = len(packing.node_names) + 1
        return class_number.astype(np.int64) * width + packing.home

    @cached_property
    def _by_place(self) -> tuple[Places, Places]:
        """The items, those of one place together, and the place of each."""
        order = np.argsort(self._places, kind="stable")
        return order, self._places[order]

    @cached_property
    def _varied(self) -> Flags:
        """Whether pods of the item's class differ in what they cost."""
        pods = self.packing.snapshot.pods
        costs: dict[str, tuple[int, int]] = {}
        varied = {
            class_id
            for class_id, *cost in zip(pods.class_id, pods.deletion_cost, pods.age_s, strict=True)
            if costs.setdefault(class_id, (cost[0], cost[1])) != (cost[0], cost[1])
        }
        classes = self.packing.snapshot.classes
        # Replicas on one node hold different devices: who leaves makes a difference there.
        flags = np.array([one in varied and not classes[one].device_requests for one in pods.classes], np.bool_)
        return flags[pods.class_number[self.packing.pod_numbers]]
