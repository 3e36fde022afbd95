"""Fewer or cheaper nodes by contents: which, and how often, such that all pods fit.

Rounds of column generation find contents and prove limits. Now and then the linear
program is made whole by a dive: the contents that it uses most are taken, and it is
solved anew for the pods that are left, with contents that suit these.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from stowage_optimizer.bounds.highs import LONGEST_S
from stowage_optimizer.bounds.question import SCALE
from stowage_optimizer.model.budget import Budget
from stowage_optimizer.model.problem import Indices, Ints
from stowage_optimizer.stages.consolidate.contents import NEGLIGIBLE, KnownContents, Solved
from stowage_optimizer.stages.consolidate.fleet import Contents, Fleet, shared_out
from stowage_optimizer.stages.consolidate.pricing import Pricing, whole

MOST_ROUNDS = 400
"""Rounds after which nothing more is expected."""

FIRST_DIVE = 16
"""Rounds before the first dive. There is another one whenever they have doubled."""

SMOOTHING = 0.3
"""How far prices go from the best ones so far towards those of the program."""

MOST_ALIKE = 10
"""Contents that are added at once for a group of several nodes."""

STEPS, MORE_STEPS, MOST_STEPS = 20_000, 8, 1_280_000
"""Steps on a group's best content: at first, how many times as many come where that
brings no more, and at most."""

LOOSE, TIGHT = 20, 500
"""The limit may be off by this part of a typical node, since near ties are not decided;
it is the second one when steps have grown."""

ALL_STEPS = 40_000_000
"""Most steps on all groups together."""

FEW_STEPS = 5_000
"""Steps on a group where the content need only be good."""

SHARES = (0.1, 0.03, 0.01)
"""Of the nodes that are still needed, as many are taken in a step of a dive."""

DIVING_ROUNDS = 2
"""Rounds in each step of a dive."""

NEAR = 0.98
"""A content of which pods are gone already must still be worth so much of it."""


@dataclass(slots=True)
class Covering:
    """Searches contents for a fleet.

    Attributes
    ----------
    limit
        No assignment of all pods costs less.
    """

    fleet: Fleet
    budget: Budget
    limit: int = 0
    _known: KnownContents = field(init=False)
    _pricing: Pricing = field(init=False)
    _proved: int = field(init=False, default=-1)
    _prices: Ints | None = field(init=False, default=None)
    _steps: int = field(init=False, default=STEPS)

    def __post_init__(self) -> None:
        self._known, self._pricing = (KnownContents(self.fleet), Pricing(self.fleet, self._left_s))

    def prove(self) -> None:
        """Prove what the prices of pods that may be cut up are good for."""
        value = self._pricing.starting_prices()
        if value is not None:
            mixes = self._pricing.mixes(value)
            worth, _ = self._pricing.best(value, self.fleet.come, mixes, self._slack, STEPS)
            self._note(value, worth)

    def assignments(self, most: int) -> Iterator[Indices]:
        """Yield nodes by item, each time cheaper than ``most`` and than before."""
        home, group = self.fleet.home, self.fleet.group
        fits = np.all(home @ self.fleet.demand <= self.fleet.room[group], axis=1)
        self._known.add(group[fits], home[fits])
        due, more, number = FIRST_DIVE, True, 0
        while more and most > self.limit and not self.budget.over():
            number += 1
            more = self._round() and number < MOST_ROUNDS
            if number < due and more:
                continue
            due *= 2
            # Where no more contents are found, those that there are can be used better.
            for share in SHARES[:1] if more else SHARES:
                found = self._dive(share, most) if most > self.limit else None
                better = None if found is None else shared_out(self.fleet, found)
                if found is not None and better is not None:
                    most = self.fleet.total(found)
                    yield better

    def _round(self) -> bool:
        """Add contents, and prove a limit; return whether another may find more."""
        solved = self._solve()
        if solved is None or self.limit >= self.fleet.always + np.ceil((solved.cost - NEGLIGIBLE) * self.fleet.typical):
            return False
        aim = whole(solved.pod)
        tries = [aim]
        if self._prices is not None:
            near = self._prices + SMOOTHING * (aim - self._prices)
            tries.insert(0, np.rint(near).astype(np.int64))
        most = min(MOST_STEPS, ALL_STEPS // len(self.fleet.size))
        while not any(self._add_best(value, solved) for value in tries):
            if self._steps >= most or self.budget.over():
                return False
            self._steps = min(most, MORE_STEPS * self._steps)
        return True

    def _add_best(self, value: Ints, solved: Solved) -> bool:
        """Add the best contents at prices that the program lacks, if any."""
        fleet, mixes = self.fleet, self._pricing.mixes(value)
        worth, content = self._pricing.best(value, fleet.come, mixes, self._slack, self._steps)
        self._note(value, worth)
        every, several = np.arange(len(fleet.size)), fleet.size > 1
        found = self._lacking(solved, every, content)
        left = fleet.count - content
        for _ in range(MOST_ALIKE):
            come = np.minimum(fleet.come, np.maximum(left, 0)) * several[:, None]
            _, content = self._pricing.best(value, come, mixes, self._slack, FEW_STEPS)
            found = self._lacking(solved, every, content) or found
            left = left - content
        return found

    def _lacking(self, solved: Solved, group: Ints, content: Indices) -> bool:
        lacks = self._known.gain(solved, group, content) > NEGLIGIBLE
        return self._known.add(group[lacks], content[lacks])

    def _note(self, value: Ints, worth: Ints) -> None:
        proved = self._pricing.proved(value, worth)
        if proved > self._proved:
            self._proved, self._prices = proved, value
            self.limit = max(self.limit, self.fleet.always + proved)

    @property
    def _slack(self) -> int:
        part = LOOSE if self._steps == STEPS else TIGHT
        return SCALE // (part * len(self.fleet.group))

    def _solve(self) -> Solved | None:
        return self._known.solve(self._left_s())

    def _left_s(self) -> float:
        return LONGEST_S if self.budget.counted else self.budget.left_s()

    def _dive(self, share: float, most: int) -> Contents | None:
        """Return contents of all pods that cost less than ``most``, if some are found.

        ``share`` of what is needed is taken at once.
        """
        left, free = self.fleet.count.copy(), self.fleet.size.copy()
        held: Contents = []
        while left.any() and not self.budget.over():
            solved = self._solve_for(left, free)
            known = self.fleet.total(held)
            if solved is None or known + solved.cost * self.fleet.typical >= most:
                break
            taken = self._taken(solved, left, free, share)
            held += taken
            if not taken:
                break
        self._known.ask_all()
        done = not left.any() and self.fleet.total(held) < most
        return held if done else None

    def _solve_for(self, left: Ints, free: Ints) -> Solved | None:
        """Solve the program for what is left, with contents that suit it."""
        self._known.ask(left, free)
        come = np.minimum(self.fleet.come, left) * (free > 0)[:, None]
        every = np.arange(len(free))
        solved = self._solve()
        for _ in range(DIVING_ROUNDS):
            if solved is None:
                break
            value = whole(solved.pod)
            mixes = self._pricing.mixes(value)
            _, content = self._pricing.best(value, come, mixes, self._slack, FEW_STEPS)
            if not self._lacking(solved, every, content):
                break
            solved = self._solve()
        return solved

    def _taken(self, solved: Solved, left: Ints, free: Ints, share: float) -> Contents:
        """Take contents, the most used ones first; ``left`` and ``free`` get less."""
        value = whole(solved.pod)
        mixes = self._pricing.mixes(value)
        taken: Contents = []
        most = max(1, int(share * solved.used.sum()))
        for at in np.argsort(-solved.used, kind="stable").tolist():
            times = int(solved.used[at] + NEGLIGIBLE)
            if not times and (len(taken) >= most or solved.used[at] < NEGLIGIBLE):
                break
            group, content = int(self._known.group[at]), self._known.content[at]
            for _ in range(min(max(1, times), int(free[group]))):
                one = self._pricing.filled(group, np.minimum(content, left), left, value, mixes[group])
                if not one.any() or (taken and one @ value < NEAR * (content @ value)):
                    break
                taken.append((group, one))
                left -= one
                free[group] -= 1
        return taken
