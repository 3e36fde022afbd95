"""Among the replicas on one node, the cheapest are disrupted.

Which of them a strategy names makes no difference to its plan. So the pods with the
lowest ``controller.kubernetes.io/pod-deletion-cost`` go, then the youngest, as a
ReplicaSet that shrinks would choose; and of those that go, the cheapest are evicted and
the others moved.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace

from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.snapshot import Pod
from stowage_optimizer.model.solution import Solution

Place = tuple[str, int | None]
"""A class, and the node that some of its pods are on."""


@dataclass(slots=True)
class Replicas:
    """The replicas on each node, looked for once however many solutions there are."""

    packing: Packing
    _pods: tuple[Pod, ...] = field(init=False, default=())
    _varied: set[str] = field(init=False, default_factory=set)
    _running: defaultdict[Place, list[int]] = field(
        init=False, default_factory=lambda: defaultdict(list)
    )

    def disrupt_cheapest(self, solution: Solution) -> Solution:
        """Return ``solution`` with other replicas disrupted in place of dearer ones."""
        return replace(solution, assignment=self._swapped(solution.assignment))

    def _swapped(self, assignment: Assignment) -> Assignment:
        items = self.packing.items
        disrupted = [
            index
            for index, (item, node) in enumerate(zip(items, assignment, strict=True))
            if item.home is not None and node != item.home
        ]
        if not disrupted:
            return assignment
        if not self._pods:
            self._index_pods()
        going: defaultdict[Place, list[int]] = defaultdict(list)
        # The cheapest are evicted.
        for index in sorted(disrupted, key=lambda one: assignment[one] is not None):
            going[self._pods[index].class_id, items[index].home].append(index)
        swapped = list(assignment)
        for place, members in going.items():
            if place[0] in self._varied:
                for index in members:
                    swapped[index] = items[index].home
                for index, member in zip(
                    self._cheapest(place, members), members, strict=False
                ):
                    swapped[index] = assignment[member]
        return tuple(swapped)

    def _cheapest(self, place: Place, members: list[int]) -> list[int]:
        rank = {index: number for number, index in enumerate(members)}

        def cost(index: int) -> tuple[int, int, int]:
            pod = self._pods[index]
            # Among pods of equal cost those already named stay named.
            return pod.deletion_cost, pod.age_s, rank.get(index, len(rank))

        return sorted(self._running[place], key=cost)

    def _index_pods(self) -> None:
        self._pods = self.packing.pods
        costs: dict[str, tuple[int, int]] = {}
        for pod in self.packing.snapshot.pods:
            cost = (pod.deletion_cost, pod.age_s)
            if costs.setdefault(pod.class_id, cost) != cost:
                self._varied.add(pod.class_id)
        # If all cost the same there is no choice, and lists take time.
        for index, pod in enumerate(self._pods):
            if pod.class_id in self._varied and pod.node is not None:
                place = (pod.class_id, self.packing.items[index].home)
                self._running[place].append(index)
