"""The part of a plan that keeps within the limits on disruption.

Steps are made while they are affordable. Then pods that wait still may find room where
dropped steps would have put others. Under the `STRICT` policy no pod may be displaced
that could stay beside the higher-priority pods. Dropping steps can cause such unjust
displacement: those pods are kept then, and the steps are tried again.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from stowage_optimizer.assignments.repair import keeps_relations
from stowage_optimizer.assignments.unjust_displacement import unjustly_displaced
from stowage_optimizer.model.options import Limits, Policy
from stowage_optimizer.model.packing import Allowance, Assignment, Disrupted, Packing
from stowage_optimizer.model.problem import NOWHERE
from stowage_optimizer.stages.finish.steps import Step, Steps
from stowage_optimizer.strategies.first_fit_decreasing import filled

ROUNDS = 8
"""Rounds of keeping unjustly displaced pods; after that no pod may be evicted."""


def owners_of(packing: Packing) -> tuple[str, ...]:
    """Return the UID of each item's owner, empty where it has none."""
    classes = packing.snapshot.classes
    return tuple(classes[class_id].owner.uid for class_id in packing.class_ids)


def within_limits(packing: Packing, limits: Limits) -> Packing:
    """Return ``packing`` with an allowance for each limit that may be in the way.

    `Limits.min_gain_per_move` is none of them.
    """
    if limits.none:
        return packing
    more = tuple(_allowances(packing, limits))
    if not more:
        return packing
    return replace(packing, allowances=(*packing.allowances, *more))


def _allowances(packing: Packing, limits: Limits) -> Iterator[Allowance]:
    running = tuple(np.flatnonzero(packing.home != NOWHERE).tolist())
    for most, counts in ((limits.max_moves, Disrupted.MOVES), (limits.max_evictions, Disrupted.EVICTIONS)):
        if most is not None and most < len(running):
            yield Allowance(running, most, counts)
    most = limits.max_disruptions_per_owner
    if most is None:
        return
    owners = owners_of(packing)
    owned: defaultdict[str, list[int]] = defaultdict(list)
    for index in running:
        if owners[index]:
            owned[owners[index]].append(index)
    for members in owned.values():
        if most < len(members):
            yield Allowance(tuple(members), most)


@dataclass(slots=True)
class Tally:
    """What the steps so far have disrupted.

    Parameters
    ----------
    owners
        Owner of each item, empty where it has none: such a pod has no limit of its own.
    """

    limits: Limits
    owners: Sequence[str]
    kept: frozenset[int] = frozenset()
    moves: int = 0
    evictions: int = 0
    _by_owner: Counter[str] = field(default_factory=Counter)

    def take(self, step: Step) -> bool:
        """Count ``step`` and return True, if it keeps within the limits."""
        by_owner = Counter(self.owners[item] for item in (*step.moved, *step.evicted) if self.owners[item])
        if not (self._affordable(step, by_owner) and self._worth(step)):
            return False
        self.moves += len(step.moved)
        self.evictions += len(step.evicted)
        self._by_owner += by_owner
        return True

    def _affordable(self, step: Step, by_owner: Counter[str]) -> bool:
        limits = self.limits
        return (
            self.kept.isdisjoint(step.evicted)
            and _within(self.moves + len(step.moved), limits.max_moves)
            and _within(self.evictions + len(step.evicted), limits.max_evictions)
            and all(
                _within(self._by_owner[owner] + count, limits.max_disruptions_per_owner)
                for owner, count in by_owner.items()
            )
        )

    def _worth(self, step: Step) -> bool:
        return len(step.placed) >= self.limits.min_gain_per_move * len(step.moved)


def _within(count: int, limit: int | None) -> bool:
    return limit is None or count <= limit


@dataclass(frozen=True, slots=True)
class Trimming:
    """Trims plans of one packing.

    Parameters
    ----------
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
            unjust: frozenset[int] = frozenset()
            if self.policy is Policy.STRICT:
                unjust = frozenset(unjustly_displaced(self.packing, trimmed))
            if not unjust:
                return trimmed
            if self.stop():
                return self._filled(self.packing.current)
            kept |= unjust
        return self._trim(assignment, frozenset(range(len(self.packing.kind))))

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
        return next((one for one in choices if keeps_relations(self.packing, one)), self.packing.current)
