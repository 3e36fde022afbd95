"""The part of a plan that keeps within the limits.

Steps are made while they are affordable. Then pods that wait still may find room where
dropped steps would have put others. Under the `STRICT` policy no pod may be displaced
that could stay beside the higher-priority pods. Dropping steps can cause such unjust
displacement: those pods are kept then, and the steps are tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from stowage_optimizer.model.options import Limits, Policy
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.strategies.filling import filled
from stowage_optimizer.strategies.finish.higher_priority import HigherPriorityPods
from stowage_optimizer.strategies.finish.steps import Steps
from stowage_optimizer.strategies.finish.tally import Tally
from stowage_optimizer.strategies.keeping_relations import keeps_relations

ROUNDS = 8
"""Rounds of keeping unjustly displaced pods; after that no pod may be evicted."""


@dataclass(frozen=True, slots=True)
class Trimming:
    """Trims plans of one packing.

    Parameters
    ----------
    packing, policy, limits
        The problem and what is asked for.
    owners
        Owner of each item, empty where it has none.
    stop
        Returns True when to make no more steps; then only pods are
        placed that find room as it is.
    """

    packing: Packing
    policy: Policy
    limits: Limits
    owners: tuple[str, ...]
    stop: Callable[[], bool]

    def keeps(self, assignment: Assignment) -> bool:
        """Return whether ``assignment`` keeps within the limits as it is."""
        if self.limits.none:
            return True
        if self.limits.min_gain_per_move:
            return assignment == self.trim(assignment)
        everything = Steps(self.packing, assignment)
        return Tally(self.limits, self.owners).take(everything.whole())

    def trim(self, assignment: Assignment) -> Assignment:
        """Return the part of ``assignment`` that keeps within the limits."""
        kept: frozenset[int] = frozenset()
        for _ in range(ROUNDS):
            trimmed = self._trim(assignment, kept)
            unjust = frozenset(self._unjustly_displaced(trimmed))
            if not unjust:
                return trimmed
            if self.stop():
                return self._filled(self.packing.current)
            kept |= unjust
        return self._trim(assignment, frozenset(range(len(self.packing.items))))

    def _trim(self, assignment: Assignment, kept: frozenset[int]) -> Assignment:
        tally = Tally(self.limits, self.owners, kept)
        steps = Steps(self.packing, assignment, tally.take, self.stop)
        for _ in steps:
            pass
        return self._filled(steps.partial.assignment)

    def _filled(self, partial: Assignment) -> Assignment:
        """Return ``partial`` with all pods placed that still fit."""
        # What pods demand of each other may not hold for a part of a plan.
        choices = (filled(self.packing, partial), partial)
        return next(
            (one for one in choices if keeps_relations(self.packing, one)),
            self.packing.current,
        )

    def _unjustly_displaced(self, assignment: Assignment) -> Iterator[int]:
        """Yield the items that are displaced unjustly."""
        if self.policy is not Policy.STRICT:
            return
        higher: dict[int, HigherPriorityPods] = {}
        for index, item in enumerate(self.packing.items):
            if item.home is None or assignment[index] is not None:
                continue
            if item.priority not in higher:
                higher[item.priority] = HigherPriorityPods(
                    self.packing, assignment, item.priority
                )
            if higher[item.priority].leave_room_for(index):
                yield index
