"""How many running pods a plan may disrupt: disruption budgets, and the limits of a request.

A budget counts over the whole plan. What is too much is trimmed off a plan: steps are
made while they are affordable, then pods that wait still may find room where dropped
steps would have put others. Under the `STRICT` policy no pod may be displaced that could
stay beside the higher-priority pods. Dropping steps can cause such unjust displacement:
those pods are kept then, and the steps are tried again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from random import Random
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from stowage_optimizer.assignments.first_fit import filled
from stowage_optimizer.assignments.steps import Step, Steps
from stowage_optimizer.assignments.unjust_displacement import unjustly_displaced
from stowage_optimizer.constraints.disruption_budgets import budgets_of
from stowage_optimizer.model.options import Limits, Policy
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.problem import NOWHERE
from stowage_optimizer.model.tie import STAYS, Pins, Rows, Tie
from stowage_optimizer.model.time_budget import TimeBudget

if TYPE_CHECKING:
    from stowage_optimizer.model.tie import KindVariables

Key = TypeVar("Key", int, str)

ROUNDS = 8
"""Rounds of keeping unjustly displaced pods; after that no pod may be evicted."""

PERTURBED_SHARE = 0.5
"""Of the pods that a proposal lets stay, those that may go when others are tried."""


class Disrupted(Enum):
    """Which disruptions an allowance counts."""

    EITHER = "moves and evictions"
    MOVES = "moves"
    EVICTIONS = "evictions"


@dataclass(frozen=True, slots=True)
class Allowance:
    """Running items of which a plan may disrupt only so many.

    Parameters
    ----------
    members
        Indices of the items, ascending.
    most
        Disruptions at most.
    """

    members: tuple[int, ...]
    most: int
    counts: Disrupted = Disrupted.EITHER

    def disrupted(self, current: Assignment, assignment: Assignment) -> list[int]:
        """Return the members that count, ascending."""
        away = [one for one in self.members if assignment[one] != current[one]]
        if self.counts is Disrupted.EITHER:
            return away
        moves = self.counts is Disrupted.MOVES
        return [one for one in away if (assignment[one] is not None) == moves]


def budget_tie(packing: Packing) -> Tie | None:
    """Return what disruption budgets allow of the items, where that is not all of them."""
    budgets = budgets_of(packing.snapshot).covering
    allowed = [budget.disruptions_allowed for budget in packing.snapshot.budgets]
    running = np.flatnonzero(packing.home != NOWHERE).tolist() if budgets else []
    members = _grouped(running, lambda index: budgets.get(packing.class_ids[index]))
    found = tuple(Allowance(tuple(members[one]), allowed[one]) for one in sorted(members))
    found = tuple(one for one in found if one.most < len(one.members))
    return DisruptionLimit(found) if found else None


def limit_tie(packing: Packing, limits: Limits) -> Tie | None:
    """Return the limits that may be in the way of a plan; or nothing."""
    found = tuple(_allowances(packing, limits))
    gain = limits.min_gain_per_move
    return DisruptionLimit(found, gain, requested=True) if found or gain else None


def _allowances(packing: Packing, limits: Limits) -> Iterator[Allowance]:
    running = tuple(np.flatnonzero(packing.home != NOWHERE).tolist())
    for most, counts in ((limits.max_moves, Disrupted.MOVES), (limits.max_evictions, Disrupted.EVICTIONS)):
        if most is not None and most < len(running):
            yield Allowance(running, most, counts)
    most = limits.max_disruptions_per_owner
    if most is None:
        return
    classes = packing.snapshot.classes
    owned = _grouped(running, lambda index: classes[packing.class_ids[index]].owner.uid or None)
    for members in owned.values():
        if most < len(members):
            yield Allowance(tuple(members), most)


def _grouped(items: Iterable[int], key: Callable[[int], Key | None]) -> dict[Key, list[int]]:
    groups: defaultdict[Key, list[int]] = defaultdict(list)
    for index in items:
        if (found := key(index)) is not None:
            groups[found].append(index)
    return groups


@dataclass(frozen=True)
class DisruptionLimit(Tie):
    """A plan disrupts no more of any pods than it may, and makes no move for too little.

    Parameters
    ----------
    min_gain_per_move
        Pods that each move must gain.
    """

    divisible = True

    allowances: tuple[Allowance, ...]
    min_gain_per_move: float = 0.0
    requested: bool = False

    @property
    def protected(self) -> Collection[int]:  # type: ignore[override] # read only
        """The pods of budgets: not all may go."""
        return () if self.requested else {index for one in self.allowances for index in one.members}

    def keeps(self, packing: Packing, assignment: Assignment) -> bool:
        """Return whether ``assignment`` disrupts no more of any than it may."""
        if any(len(one.disrupted(packing.current, assignment)) > one.most for one in self.allowances):
            return False
        if not self.min_gain_per_move:
            return True
        steps = Steps(packing, assignment)
        if not packing.divisible:
            # A move may serve what steps, which are about room, know nothing of.
            return self._worth(steps.whole())
        return all(self._worth(step) for step in steps) and steps.partial.assignment == assignment

    def repaired(self, packing: Packing, assignment: Assignment, budget: TimeBudget) -> Assignment:
        """Return the part of ``assignment`` that keeps within the limits, filled up."""
        if self.keeps(packing, assignment):
            return assignment
        kept: frozenset[int] = frozenset()
        for _ in range(ROUNDS):
            trimmed = self._trimmed(packing, assignment, kept, budget)
            unjust: frozenset[int] = frozenset()
            if budget.policy is Policy.STRICT:
                unjust = frozenset(unjustly_displaced(packing, trimmed))
            if not unjust:
                return trimmed
            if budget.over():
                return filled(packing, packing.current)
            kept |= unjust
        return self._trimmed(packing, assignment, frozenset(range(len(packing.kind))), budget)

    def _trimmed(
        self, packing: Packing, assignment: Assignment, kept: frozenset[int], budget: TimeBudget
    ) -> Assignment:
        allowed = partial(self._allowed, Spent(packing, self.allowances), kept)
        steps = Steps(packing, assignment, allowed, budget.over)
        for _ in steps:
            pass
        return filled(packing, steps.partial.assignment)

    def _allowed(self, spent: Spent, kept: frozenset[int], step: Step) -> bool:
        return kept.isdisjoint(step.evicted) and self._worth(step) and spent.take(step.moved, step.evicted)

    def _worth(self, step: Step) -> bool:
        return len(step.placed) >= self.min_gain_per_move * len(step.moved)

    def pinned(self, packing: Packing, proposal: Assignment, budget: TimeBudget, rng: Random | None) -> Pins:
        """Keep all but so many where they are.

        Those may go that ``proposal`` disrupts, then those that are cheapest to disrupt; with an ``rng`` others.
        Without, where a proposal that makes changes keeps within an allowance, its pods are left alone.
        """
        del budget
        pods, current = packing.snapshot.pods, packing.current
        exceeded_only = rng is None and proposal != current

        def rank(index: int) -> tuple[bool, float, int, int]:
            stays = proposal[index] == current[index]
            if rng is None:
                pod = packing.pod_numbers[index]
                return stays, 0.0, pods.deletion_cost[pod], pods.age_s[pod]
            other = rng.random() < PERTURBED_SHARE
            return stays and not other, rng.random(), 0, 0

        stay: set[int] = set()
        for one in self.allowances:
            gone = one.disrupted(current, proposal)
            if one.counts is Disrupted.EVICTIONS:
                # Its pods may move as they like.
                stay.update(gone[one.most :])
            elif len(gone) > one.most or not exceeded_only:
                stay.update(sorted(one.members, key=rank)[one.most :])
        return dict.fromkeys(stay, STAYS)

    def write(self, packing: Packing, rows: Rows) -> None:
        """Add the row of each allowance, whose members are all running pods of classes."""
        for one in self.allowances:
            covered = sorted({packing.class_ids[index] for index in one.members})
            kinds = [kind for name in covered for kind in rows.kinds.get(name, ())]
            rows.program.at_most(*_row(one, kinds))

    def part(self, packing: Packing, members: Sequence[int], assignment: Assignment) -> Tie | None:
        """Return what is left for ``members`` of what the others have not used."""
        number = {index: at for at, index in enumerate(members)}
        left = []
        for one in self.allowances:
            used = sum(index not in number for index in one.disrupted(packing.current, assignment))
            inside = tuple(number[index] for index in one.members if index in number)
            if len(inside) > one.most - used:
                left.append(replace(one, members=inside, most=one.most - used))
        return replace(self, allowances=tuple(left)) if left or self.min_gain_per_move else None


def _row(allowance: Allowance, kinds: Sequence[KindVariables]) -> tuple[list[tuple[int, int]], int]:
    moved = [(kind.moved, 1) for kind in kinds]
    if allowance.counts is Disrupted.MOVES:
        return moved, allowance.most
    stays = [(stay, -1) for kind in kinds for stay in kind.stay.values()]
    if allowance.counts is Disrupted.EVICTIONS:
        stays += [(variable, -1) for variable, _ in moved]
    return stays, allowance.most - sum(kind.running for kind in kinds)


def allowances_of(packing: Packing) -> tuple[Allowance, ...]:
    """Return every allowance of a packing."""
    return tuple(allowance for tie in packing.ties if isinstance(tie, DisruptionLimit) for allowance in tie.allowances)


class Spent:
    """What is left of each allowance while steps are made one after the other."""

    def __init__(self, packing: Packing, allowances: Sequence[Allowance]) -> None:
        self._left = [one.most for one in allowances]
        self._moved: list[list[int]] = [[] for _ in packing.kind]
        self._evicted: list[list[int]] = [[] for _ in packing.kind]
        for number, one in enumerate(allowances):
            for index in one.members:
                if one.counts is not Disrupted.EVICTIONS:
                    self._moved[index].append(number)
                if one.counts is not Disrupted.MOVES:
                    self._evicted[index].append(number)

    def take(self, moved: Iterable[int], evicted: Iterable[int] = ()) -> bool:
        """Count what is disrupted and return True, if that is allowed."""
        numbers = [number for index in moved for number in self._moved[index]]
        numbers += [number for index in evicted for number in self._evicted[index]]
        for number in numbers:
            self._left[number] -= 1
        if any(self._left[number] < 0 for number in numbers):
            for number in numbers:
                self._left[number] += 1
            return False
        return True
