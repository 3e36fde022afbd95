"""The exact bound that prices prove.

Every assignment in question obeys the limits that the prices are of, so that adding
price times slack to its value only makes it larger. What is then left to maximise
falls apart into single nodes (`best_patterns`), and the sum is a bound: for any
prices, in integers throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from stowage_optimizer.bounds.groups import Groups, mixes_of
from stowage_optimizer.bounds.master import Duals, Floats
from stowage_optimizer.bounds.pricing import best_patterns
from stowage_optimizer.bounds.question import SCALE, Prices
from stowage_optimizer.bounds.scope import Scope
from stowage_optimizer.search.problem import Indices, Ints

MOST_VALUE = 2**33
"""Values from here on could overflow the pricing."""

CELLS_AT_ONCE = 20_000
"""Cells of groups times kinds between two looks at the clock."""

LEAST_BUDGET = 400_000
"""Steps on one group, some milliseconds, before its limit is taken as its worth."""

BUDGET = 4_000_000
"""Steps on all groups, shared evenly where that is more than `LEAST_BUDGET`."""

MOST_ALIKE = 8
"""Patterns to add at once for equal nodes."""

MOST_ALIKE_BUDGET = 20_000
"""Steps on each of those; they need not be the best."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What prices prove.

    Parameters
    ----------
    bound
        No assignment in question has more than this, in parts of `SCALE`, without the
        objective's constant.
    worth
        What the best pattern of each group is worth at most, shape ``(groups,)``.
    patterns
        Patterns of that worth, shape ``(groups, kinds, 2)``.
    """

    prices: Prices
    bound: int
    worth: Ints
    patterns: Indices


@dataclass(slots=True)
class Lagrangian:
    """Evaluates prices for one scope.

    Parameters
    ----------
    late
        Returns whether time is over; asked between chunks of groups.
    """

    scope: Scope
    groups: Groups
    late: Callable[[], bool]
    _mixes: Floats = field(init=False)

    def __post_init__(self) -> None:
        self._mixes = mixes_of(self.groups.demand, self.groups.room)

    def round(self, duals: Duals) -> Prices:
        """Return ``duals`` as whole parts of `SCALE`, of the right sign."""
        requirement = _whole(duals.requirement)
        most = self._running_value(requirement)
        run = np.minimum(_whole(duals.run), most)
        run = np.where(self.scope.running == self.scope.count, most, run)
        return Prices(
            pod=_whole(duals.pod),
            run=np.where(self.scope.running > 0, run, 0),
            requirement=requirement,
        )

    def evaluate(self, prices: Prices, slack: int) -> Evaluation | None:
        """Return what ``prices`` prove; None if time is over or a price is absurd.

        ``slack`` is by how much the bound may miss what the prices could prove, in
        parts of `SCALE`: with some, near ties need no search.
        """
        scope, groups = self.scope, self.groups
        value, bonus = self.values(prices)
        if (np.abs(value) + bonus > MOST_VALUE).any():
            return None
        number = len(groups.size)
        chunk = max(1, CELLS_AT_ONCE // len(scope.kinds))
        each = slack // int(groups.size.sum())
        budget = max(LEAST_BUDGET, BUDGET // number)
        priced = []
        for start in range(0, number, chunk):
            if self.late():
                return None
            part = slice(start, start + chunk)
            come = groups.come[part]
            priced.append(self._priced(part, come, (value, bonus), each, budget))
        worth = np.concatenate([one for one, _ in priced])
        patterns = np.concatenate([found for _, found in priced])
        return Evaluation(prices, self._sum(prices, worth), worth, patterns)

    def _priced(
        self,
        part: slice,
        come: Indices,
        values: tuple[Ints, Ints],
        slack: int,
        budget: int,
    ) -> tuple[Ints, Indices]:
        """Return what the best pattern of each group in ``part`` is worth, and it."""
        groups = self.groups
        worth = np.zeros(len(come), np.int64)
        patterns = np.zeros((*come.shape, 2), np.int32)
        best_patterns(
            groups.demand, groups.room[part], groups.stay[part], come, *values,
            self._mixes, slack, budget, worth, patterns,
        )  # fmt: skip
        return worth, patterns

    def more_patterns(self, found: Evaluation, group: int) -> Iterator[Indices]:
        """Yield patterns of further nodes of ``group``, of the pods not yet taken."""
        groups = self.groups
        values = self.values(found.prices)
        left = self.scope.count - found.patterns[group].sum(axis=1)
        part = slice(group, group + 1)
        for _ in range(min(MOST_ALIKE, int(groups.size[group])) - 1):
            if self.late():
                return
            come = np.minimum(groups.come[part], np.maximum(left, 0)).astype(np.int32)
            _, patterns = self._priced(part, come, values, 0, MOST_ALIKE_BUDGET)
            if not patterns.any():
                return
            yield patterns[0]
            left = left - patterns[0].sum(axis=1)

    def values(self, prices: Prices) -> tuple[Ints, Ints]:
        """Return what a pod is worth on a node, and how much more at home, by kind."""
        scope = self.scope
        placed = scope.objective.placed * SCALE
        stays = scope.objective.stays * SCALE
        for price, row in zip(prices.requirement, scope.requirements, strict=True):
            placed = placed + price * row.placed
            stays = stays + price * row.stays
        return placed + prices.run - prices.pod, stays * self.groups.staying

    def _running_value(self, requirement: Ints) -> Ints:
        value = self.scope.objective.running * SCALE
        for price, row in zip(requirement, self.scope.requirements, strict=True):
            value = value + price * row.running
        return value

    def _sum(self, prices: Prices, worth: Ints) -> int:
        scope = self.scope
        free_run = self._running_value(prices.requirement) - prices.run
        return (
            _dot(prices.pod, scope.count)
            + _dot(np.maximum(free_run, 0), scope.running)
            + _dot(self.groups.size, worth)
            - sum(
                int(price) * row.constant
                for price, row in zip(
                    prices.requirement, scope.requirements, strict=True
                )
            )
        )


def _whole(duals: Floats) -> Ints:
    return np.rint(np.clip(duals, 0, 2**12) * SCALE).astype(np.int64)


def _dot(one: Ints, other: Ints) -> int:
    return sum(int(a) * int(b) for a, b in zip(one, other, strict=True))
