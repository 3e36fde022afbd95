"""Column generation over node patterns (Dantzig-Wolfe), for the sake of its bound.

A linear program over the patterns known so far gives prices; at these, the most
valuable pattern of each node is found, which both proves a bound and is the pattern
to add. Prices are smoothed towards the best ones so far (Wentges), which saves rounds.
"""

from __future__ import annotations

from collections import defaultdict
from math import floor

import numpy as np

from stowage_optimizer.bounds.descent import Descent, starting_prices
from stowage_optimizer.bounds.groups import Groups, at_home, make_groups
from stowage_optimizer.bounds.lagrangian import Evaluation, Lagrangian
from stowage_optimizer.bounds.master import Duals, Master
from stowage_optimizer.bounds.question import SCALE, Bound, Question
from stowage_optimizer.bounds.scope import Scope, from_maximum, make_scope, to_maximum
from stowage_optimizer.model.certificate import (
    DualBound,
    PodPrice,
    ProofMethod,
    RequirementPrice,
)
from stowage_optimizer.model.options import Clock
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.search.problem import Indices, Ints

SMOOTHING = 0.15
"""How far new prices go from the best ones towards those of the linear program."""

MOST_ROUNDS = 400
"""Rounds after which nothing more is expected; the limit of a deterministic run."""

NEGLIGIBLE = 1e-7
"""By how much the linear program's value may be off; it only decides when to stop."""

POLISHED = 0.01
"""Gap to the linear program at which prices are as tight as enumeration needs them."""

LAST_S = 0.005
"""A linear program that is broken off so shortly before the deadline met it."""

SLACK = SCALE // 4
"""Most by which a bound may miss what its prices could prove."""

LEAST_SLACK = SCALE // 256
"""Least of it."""


class DualSearch:
    """Searches prices for the bound that they prove, in slices of time.

    Parameters
    ----------
    placed
        Node by item, negative for none, of an assignment that reaches what the
        question presumes, shape ``(items,)``. It only speeds the search up.
    before
        A search for the same phase when less was reached, whose patterns and prices
        are good to begin with.

    Attributes
    ----------
    question, scope, groups, master
        What is asked, the pods in scope, and the linear program with all its patterns.
        Without groups the search cannot run.
    """

    def __init__(
        self,
        question: Question,
        placed: Ints,
        clock: Clock,
        before: DualSearch | None = None,
    ) -> None:
        self.finished = False
        """Whether resuming cannot bring anything."""
        self.question, self._clock = question, clock
        self.scope = make_scope(question)
        self._deadline, self._polish = 0.0, False
        self._best: Evaluation | None = None
        self.at: Duals | None = None
        groups = make_groups(self.scope)
        self.usable = groups is not None
        """Whether there is a linear program at all."""
        if groups is None:
            self.finished = True
            return
        self.groups = groups
        self.master = Master(question.phase, self.scope, groups)
        self._lagrangian = Lagrangian(self.scope, groups, self._late)
        self._descent: Descent | None = None
        self.know(placed)
        self._start: Duals | None = None
        if before is not None and before.at is not None and self._same_scope(before):
            self._start = before.at
            for group, pattern in before.master.patterns():
                self.master.add(group, pattern)

    @property
    def descending(self) -> bool:
        """Whether prices still get better without the linear program."""
        return self._descent is None or not self._descent.finished

    def know(self, placed: Ints) -> None:
        """Add the patterns of an assignment: node by item, negative for none."""
        content = patterns_of(self.scope, self.groups, placed)
        for group, pattern in zip(self.groups.group, content, strict=True):
            self.master.add(int(group), pattern)

    def _same_scope(self, before: DualSearch) -> bool:
        """Return whether ``before`` is about the same pods and nodes."""
        mine, other = self.scope, before.scope
        return (
            np.array_equal(mine.items, other.items)
            and len(mine.requirements) == len(other.requirements)
            and np.array_equal(self.groups.group, before.groups.group)
            and np.array_equal(self.groups.staying, before.groups.staying)
        )

    def run(
        self,
        deadline: float,
        *,
        good_enough: int | None = None,
        rounds: int = MOST_ROUNDS,
        polish: bool = False,
    ) -> Bound | None:
        """Go on until ``deadline`` and return the best bound so far, if there is one.

        Parameters
        ----------
        deadline
            When to stop; a step between two looks at the clock takes some milliseconds.
        good_enough
            A bound that need not be beaten, such as what is reached.
        rounds
            Most rounds to make.
        polish
            Whether to go on for the sake of the prices when the bound as a whole number
            cannot get better: `Enumeration` lists the fewer the tighter they are.
        """
        if polish and not self._polish:
            self.finished = not self.usable
        self._deadline, self._polish = deadline, polish
        goal = None
        if good_enough is not None:
            goal = to_maximum(self.question, self.scope, good_enough)
        for _ in range(rounds):
            if self.finished or self._late() or self._good(goal):
                break
            self._round(goal)
        if self._best is None:
            return None
        value = from_maximum(self.question, self.scope, self._best.bound)
        return Bound(value, ProofMethod.DUAL_BOUND, self._best.prices)

    def _round(self, goal: int | None) -> None:
        """Go down the slope first; then try the program's prices while they help."""
        if self._descend(goal):
            return
        solved = self.master.solve(self._deadline - self._clock())
        if solved is None:
            # Either time is up, or the solver gave up for good.
            self.finished = self._deadline - self._clock() > LAST_S
            return
        value, duals = solved
        fruitless = not self._price(duals, goal, value)
        self.finished = (fruitless and not self._late() and not self._good(goal)) or (
            self._tight(value)
        )

    def _descend(self, goal: int | None) -> bool:
        """Make a step down the slope; return whether there was one to make."""
        if self._descent is None:
            start = self._start or starting_prices(
                self.question.phase, self.scope, self.groups
            )
            self._descent = Descent(
                self.scope, self.groups, self._lagrangian, goal, start
            )
        descent = self._descent
        if descent.finished:
            return False
        best = descent.best
        found = descent.step()
        if found is not None and descent.best is not best:
            self._best, self.at = descent.best, descent.at
            self._add(found)
        return True

    def _price(self, duals: Duals, goal: int | None, value: float) -> bool:
        """Add patterns at prices near ``duals``, else at them; True if any is new."""
        slack = self._slack(value)
        tries = [(duals, slack)]
        if self.at is not None:
            tries.insert(0, (self.at.towards(duals, SMOOTHING), slack))
        if slack > LEAST_SLACK:
            # A near tie may have hidden the pattern that is missing.
            tries.append((duals, LEAST_SLACK))
        for tried, exactness in tries:
            found = self._evaluate(tried, exactness)
            if found is None or self._good(goal):
                return False
            if self._add(found):
                return True
        return False

    def _evaluate(self, tried: Duals, slack: int) -> Evaluation | None:
        prices = self._lagrangian.round(tried)
        found = self._lagrangian.evaluate(prices, slack)
        if found and (self._best is None or found.bound < self._best.bound):
            self._best, self.at = found, tried
        return found

    def _slack(self, value: float) -> int:
        """Return how exact the next bound must be: as the gap is wide, or may stay."""
        to_next = 0.0 if self._polish else 1.0 - value % 1.0
        gap = SLACK if self._best is None else self._best.bound - int(value * SCALE)
        return max(min(gap // 8, SLACK), int(to_next * SLACK), LEAST_SLACK)

    def _add(self, found: Evaluation) -> bool:
        added = False
        for group in np.flatnonzero(found.worth > 0):
            added |= self.master.add(int(group), found.patterns[group])
            for pattern in self._lagrangian.more_patterns(found, int(group)):
                added |= self.master.add(int(group), pattern)
        return added

    def _good(self, goal: int | None) -> bool:
        """Return whether the bound, rounded, is down to ``goal``."""
        return (
            goal is not None
            and self._best is not None
            and self._best.bound < (goal + 1) * SCALE
        )

    def _tight(self, value: float) -> bool:
        """Return whether no prices could prove more: the program only grows."""
        if self._best is None:
            return False
        if self._polish:
            return self._best.bound <= (value + POLISHED) * SCALE
        least = floor((value + NEGLIGIBLE) * SCALE)
        found = from_maximum(self.question, self.scope, self._best.bound)
        return found == from_maximum(self.question, self.scope, least)

    def _late(self) -> bool:
        return self._clock() > self._deadline


def patterns_of(scope: Scope, groups: Groups, placed: Ints) -> Indices:
    """Return what each node holds under ``placed``, shape ``(nodes, kinds, 2)``."""
    nodes, kinds = len(scope.room), len(scope.kinds)
    patterns = np.zeros((nodes, kinds, 2), np.int32)
    where = np.asarray(placed)[scope.items]
    has_node = where >= 0
    there = patterns[:, :, 1]
    np.add.at(there, (where[has_node], scope.kind_of[has_node]), 1)
    # Replicas are equal: as many stay as are on their kind's home nodes.
    stays = np.minimum(patterns[:, :, 1], at_home(scope)) * groups.staying
    patterns[:, :, 0] = stays
    patterns[:, :, 1] -= patterns[:, :, 0]
    return patterns


def written(question: Question, packing: Packing, bound: Bound) -> DualBound | None:
    """Return the prices of ``bound`` by pods and priorities; None if it has none."""
    if bound.prices is None:
        return None
    scope = make_scope(question)
    members: defaultdict[int, list[str]] = defaultdict(list)
    for item, kind in zip(scope.items, scope.kind_of, strict=True):
        members[int(kind)].append(packing.items[item].pod_uid)
    return DualBound(
        scale=SCALE,
        pods=tuple(
            PodPrice(
                tuple(uids), int(bound.prices.pod[kind]), int(bound.prices.run[kind])
            )
            for kind, uids in sorted(members.items())
        ),
        requirements=tuple(
            RequirementPrice(packing.tiers[row.tier], row.phase.value, int(price))
            for row, price in zip(
                scope.requirements, bound.prices.requirement, strict=True
            )
        ),
    )
