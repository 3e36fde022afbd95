"""Rounds of column generation (Dantzig-Wolfe) for one objective.

A linear program over the patterns known so far gives prices; at these, the most
valuable pattern of each node is found, which both proves a bound and is the pattern
to add. Prices are smoothed towards the best ones so far (Wentges), which saves rounds.
"""

from collections.abc import Callable

import numpy as np

from stowage_optimizer.bounds.groups import Groups
from stowage_optimizer.bounds.lagrangian import Evaluation, Lagrangian
from stowage_optimizer.bounds.master import Master
from stowage_optimizer.bounds.phase import SCALE, Duals, Floats
from stowage_optimizer.bounds.scope import Scope, mean_worth
from stowage_optimizer.model.problem import Ints

SMOOTHING = 0.2
"""How far new prices go from the best ones towards those of the linear program."""

LAST_S = 0.005
"""A linear program that is broken off so shortly before the deadline met it."""

SLACK = SCALE // 4
"""Most by which a bound may miss what its prices could prove, where a pod counts 1."""

LEAST_SLACK = SCALE // 256
"""Least of it."""

Tight = Callable[[float, int], bool]
"""Whether no prices could prove more that matters, given the value of the linear
program, which only grows, and the bound."""


class ColumnGeneration:
    """Searches the best prices of one scope.

    Parameters
    ----------
    master
        The program, which searches for other objectives of the same tier share.
    left_s
        Returns the seconds that are left.
    mixes_at
        As in `Lagrangian`.

    Attributes
    ----------
    best, at
        The best that is proved, and at which prices; None before anything is.
    used
        How often the linear program used each pattern when it was solved last.
    longest_s
        The longest round so far.
    least_slack
        By how much a bound may miss in the end what its prices could prove.
    finished
        Whether another round cannot bring anything.
    """

    def __init__(
        self,
        scope: Scope,
        groups: Groups,
        master: Master,
        left_s: Callable[[], float],
        mixes_at: Callable[[Ints], Floats] | None = None,
    ) -> None:
        self.scope, self.groups, self.master = scope, groups, master
        self.lagrangian = Lagrangian(scope, groups, lambda: left_s() <= 0, mixes_at=mixes_at)
        self.best: Evaluation | None = None
        self.at: Duals | None = None
        self.used: Floats = np.zeros(0)
        self.longest_s = 0.0
        self._unit = mean_worth(scope)
        self.least_slack = self._unit * LEAST_SLACK
        self.finished = False
        self._left_s = left_s

    def round(self, goal: int | None, tight: Tight, *, whole: bool) -> None:
        """Solve the program, and try its prices.

        Parameters
        ----------
        goal
            A bound that need not be beaten, as a sum without the constant.
        whole
            Whether only the bound as a whole number matters.
        """
        left_s = self._left_s()
        self._go_on(goal, tight, whole=whole)
        self.longest_s = max(self.longest_s, left_s - self._left_s())

    def _go_on(self, goal: int | None, tight: Tight, *, whole: bool) -> None:
        self.master.aim(self.scope)
        solved = self.master.solve(self._left_s())
        if solved is None:
            # Either time is up, or the solver gave up for good.
            self.finished = self._left_s() > LAST_S
            return
        value, self.used = solved.value, solved.used
        slack = self._slack(value, whole=whole)
        fruitless = not self._price(solved.duals, goal, slack)
        given_up = fruitless and self._left_s() > 0 and not self.good(goal)
        is_tight = self.best is not None and tight(value, self.best.bound)
        self.finished = not self.master.growing and (given_up or is_tight)

    def evaluate(self, tried: Duals, slack: int) -> Evaluation | None:
        """Evaluate prices, and keep them if they are the best; None if late."""
        found = self.lagrangian.evaluate(self.lagrangian.round(tried), slack)
        if found and (self.best is None or found.bound < self.best.bound):
            self.best, self.at = found, tried
        return found

    def add(self, found: Evaluation) -> bool:
        """Add what the program lacks of the best patterns; return whether it did."""
        self.master.aim(self.scope)
        groups = np.flatnonzero(found.patterns.any(axis=(1, 2)))
        every = [(groups, found.patterns[groups]), *self.lagrangian.more_patterns(found)]
        return self.master.add_missing(*map(np.concatenate, zip(*every, strict=True)))

    def good(self, goal: int | None) -> bool:
        """Return whether the bound, rounded, is down to ``goal``."""
        best = self.best
        return goal is not None and best is not None and best.bound < (goal + 1) * SCALE

    def _price(self, duals: Duals, goal: int | None, slack: int) -> bool:
        """Add patterns at prices near ``duals``, else at them; return whether any is new, or may be next time."""
        tries = [(duals, slack)]
        if self.at is not None:
            tries.insert(0, (self.at.towards(duals, SMOOTHING), slack))
        if slack > self.least_slack:
            # A near tie may have hidden the pattern that is missing.
            tries.append((duals, self.least_slack))
        found = None
        for tried, exactness in tries:
            found = self.evaluate(tried, exactness)
            if found is None or self.good(goal):
                return False
            if self.add(found):
                return True
        # Where the search for patterns was cut off, those found are known already.
        return found is not None and found.cut_off and self.lagrangian.take_more_steps()

    def _slack(self, value: float, *, whole: bool) -> int:
        """Return how exact the next bound must be: as the gap is wide, or may stay."""
        to_next = 1.0 - value % 1.0 if whole else 0.0
        most = self._unit * SLACK
        gap = most if self.best is None else self.best.bound - int(value * SCALE)
        return max(min(gap // 8, most), int(to_next * SLACK), self.least_slack)
