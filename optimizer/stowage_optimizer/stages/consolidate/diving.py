"""Column generation with dives: which node contents, and how often, such that all pods fit on few or cheap nodes.

Rounds of column generation find contents and prove bounds. Now and then a dive makes
the linear program's solution integral: the contents that it uses most are taken, and it is
solved anew for the pods that are left, with contents that suit these.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil

import numpy as np

from stowage_optimizer.bounds.aggregate_relaxation import solve_relaxation
from stowage_optimizer.bounds.column_generation import ColumnGeneration
from stowage_optimizer.bounds.highs import LONGEST_S
from stowage_optimizer.bounds.master import NEGLIGIBLE, Master, Solved
from stowage_optimizer.bounds.phase import SCALE
from stowage_optimizer.model.problem import Indices, Ints
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.stages.consolidate.dimension_shares import Mixes
from stowage_optimizer.stages.consolidate.fleet import Contents, Fleet, assign_contents

MOST_ROUNDS = 400
"""Rounds after which nothing more is expected."""

FIRST_DIVE = 16
"""Rounds before the first dive. There is another one whenever they have doubled."""

SLACK, LEAST_SLACK = SCALE // 20, SCALE // 512
"""The bound may be off by this part of a typical node, since near ties are not decided:
at first, and in the end."""

MOST_STEPS, ALL_STEPS = 1_280_000, 40_000_000
"""Most steps on a group's best content, and on those of all groups together."""

SHARES = (0.1, 0.03, 0.01)
"""Of the nodes that are still needed, as many are taken in a step of a dive."""

DIVING_ROUNDS = 2
"""Rounds in each step of a dive."""

NEAR = 0.98
"""A content of which pods are gone already must still be worth so much of it."""


@dataclass(slots=True)
class DivingSearch:
    """Searches contents for a fleet.

    Attributes
    ----------
    bound
        No assignment of all pods costs less.
    """

    fleet: Fleet
    budget: TimeBudget
    bound: int = 0
    _search: ColumnGeneration = field(init=False)

    def __post_init__(self) -> None:
        scope, groups = self.fleet.scope, self.fleet.groups
        self._search = ColumnGeneration(scope, groups, Master(scope, groups), self._left_s, Mixes(groups, self._left_s))
        self._search.lagrangian.patience = min(MOST_STEPS, ALL_STEPS // len(groups.size))
        self._search.least_slack = LEAST_SLACK

    def prove(self) -> None:
        """Prove what the prices of pods that may be cut up are good for."""
        found = solve_relaxation(self.fleet.scope, self.fleet.groups, self._left_s())
        if found is not None:
            self._search.evaluate(found.duals, SLACK)
            self._note()

    def assignments(self, most: int) -> Iterator[Indices]:
        """Yield nodes by item, each time cheaper than ``most`` and than before."""
        home, groups = self.fleet.home, self.fleet.groups
        demand, room = self.fleet.scope.demand, self.fleet.scope.room
        fits = np.all(home @ demand <= room, axis=1)
        self._search.master.add_missing(
            groups.group[fits].astype(np.int64), np.stack([0 * home[fits], home[fits]], axis=2)
        )
        due, number = FIRST_DIVE, 0
        while not self._search.finished and most > self.bound and not self.budget.over():
            number += 1
            self._search.round(None, self._tight, whole=False)
            self._note()
            self._search.finished |= number == MOST_ROUNDS
            ended = self._search.finished
            if number < due and not ended:
                continue
            due *= 2
            # Where no more contents are found, those that there are can be used better.
            for share in SHARES if ended else SHARES[:1]:
                found = self._dive(share, most) if most > self.bound else None
                better = None if found is None else assign_contents(self.fleet, found)
                if found is not None and better is not None:
                    most = self.fleet.total(found)
                    yield better

    def _tight(self, value: float, bound: int) -> bool:
        """Return whether ``bound`` proves as much as the program's value lets any prices prove."""
        return self._proved(bound) >= ceil((-value - NEGLIGIBLE) * self.fleet.typical)

    def _proved(self, bound: int) -> int:
        """Return the least cost of nodes beside those always in use, given a bound on its negative in parts."""
        return -(bound * self.fleet.typical // SCALE)

    def _note(self) -> None:
        if self._search.best is not None:
            self.bound = max(self.bound, self.fleet.always + self._proved(self._search.best.bound))

    def _left_s(self) -> float:
        return LONGEST_S if self.budget.deterministic else self.budget.left_s()

    def _dive(self, share: float, most: int) -> Contents | None:
        """Return contents of all pods that cost less than ``most``, if found, taking a ``share`` at once."""
        left, free = self.fleet.scope.count.copy(), self.fleet.groups.size.copy()
        held: Contents = []
        while left.any() and not self.budget.over():
            solved = self._solve_for(left, free)
            known = self.fleet.total(held)
            if solved is None or known - solved.value * self.fleet.typical >= most:
                break
            taken = self._taken(solved, left, free, share)
            held += taken
            if not taken:
                break
        self._search.master.need(self.fleet.scope.count, self.fleet.groups.size)
        done = not left.any() and self.fleet.total(held) < most
        return held if done else None

    def _solve_for(self, left: Ints, free: Ints) -> Solved | None:
        """Solve the program for what is left, with contents that suit it."""
        master, lagrangian = self._search.master, self._search.lagrangian
        master.need(left, free)
        come = (np.minimum(self.fleet.groups.come, left) * (free > 0)[:, None]).astype(np.int32)
        every = np.arange(len(free))
        solved = master.solve(self._left_s())
        for _ in range(DIVING_ROUNDS):
            if solved is None:
                break
            content = lagrangian.quick_patterns(lagrangian.round(solved.duals), SLACK, come)
            if not master.add_missing(every, content):
                break
            solved = master.solve(self._left_s())
        return solved

    def _taken(self, solved: Solved, left: Ints, free: Ints, share: float) -> Contents:
        """Take contents, the most used ones first; ``left`` and ``free`` get less."""
        lagrangian, patterns = self._search.lagrangian, self._search.master.patterns
        prices = lagrangian.round(solved.duals)
        filling, value = lagrangian.filling(prices), -prices.pod
        taken: Contents = []
        most = max(1, int(share * solved.used.sum()))
        often = np.argsort(-solved.used, kind="stable")[: int((solved.used >= NEGLIGIBLE).sum())]
        for at, content in zip(often.tolist(), patterns.dense(often, len(left)).sum(axis=2), strict=True):
            times, group = int(solved.used[at] + NEGLIGIBLE), int(patterns.group[at])
            if not times and len(taken) >= most:
                break
            for _ in range(min(max(1, times), int(free[group]))):
                one = filling(group, np.minimum(content, left), left)
                if not one.any() or (taken and one @ value < NEAR * (content @ value)):
                    break
                taken.append((group, one))
                left -= one
                free[group] -= 1
        return taken
