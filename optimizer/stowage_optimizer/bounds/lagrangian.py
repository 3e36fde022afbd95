"""The exact bound that prices prove.

Every assignment in question satisfies the constraints that the prices are of, so that adding
price times slack to its value only makes it larger. What is then left to maximise
falls apart into single nodes (`best_patterns`), and the sum is a bound: for any
prices, in integers throughout.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from stowage_optimizer.bounds.groups import Groups, mixes_of
from stowage_optimizer.bounds.phase import SCALE, Duals, Floats, Prices
from stowage_optimizer.bounds.pricing import best_patterns
from stowage_optimizer.bounds.scope import Scope
from stowage_optimizer.model.problem import Indices, Ints

MOST_VALUE = 2**33
"""Values from here on could overflow the pricing."""

CELLS_AT_ONCE = 20_000
"""Cells of groups times kinds between two looks at the clock."""

BUDGET = 4_000_000
"""Steps on all groups, shared evenly, before their bounds are taken as their worth."""

PATIENT_BUDGET = 400_000
"""Steps on one group, some milliseconds, where shares of the above bring no more."""

MORE_STEPS = 8
"""How many times as many steps come next then."""

QUICK_BUDGET = 2_000
"""Steps on a group where its pattern need only be good."""

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
        What the best pattern of each group is worth beyond its node's cost at most,
        shape ``(groups,)``.
    patterns
        Patterns of that worth, shape ``(groups, kinds, 2)``.
    cut_off
        Whether the steps ran out in some group, so that its pattern is worth less.
    """

    prices: Prices
    bound: int
    worth: Ints
    patterns: Indices
    cut_off: bool


@dataclass(frozen=True, slots=True)
class _Values:
    """What a pod is worth by kind, how much more at home, the mixes, and those that suit."""

    pod: Ints
    stay: Ints
    mixes: Floats
    mix_of: Ints


@dataclass(slots=True)
class Lagrangian:
    """Evaluates prices for one scope.

    Parameters
    ----------
    late
        Returns whether time is over; asked between chunks of groups.
    mixes
        Shares of the dimensions to try besides those that are always tried, shape
        ``(mixes, dimensions in use)``.
    mixes_at
        Returns the one mix to try of each group, shape ``(groups, dimensions in use)``,
        given what a pod is worth by kind.
    budget, patience
        Steps on a group before its bound is taken as its worth: at first, and at most.
    """

    scope: Scope
    groups: Groups
    late: Callable[[], bool]
    mixes: Floats | None = None
    mixes_at: Callable[[Ints], Floats] | None = None
    budget: int = field(init=False)
    patience: int = PATIENT_BUDGET
    _mixes: Floats = field(init=False)

    def __post_init__(self) -> None:
        self._mixes = mixes_of(self.groups.demand, self.groups.room)
        if self.mixes is not None:
            self._mixes = np.vstack([self._mixes, self.mixes])
        self.budget = BUDGET // len(self.groups.size)

    def take_more_steps(self) -> bool:
        """Take more steps on each group from now on; return whether it may."""
        if self.budget >= self.patience:
            return False
        self.budget = min(self.patience, MORE_STEPS * self.budget)
        return True

    def round(self, duals: Duals) -> Prices:
        """Return ``duals`` as whole parts of `SCALE`, of the right sign."""
        requirement = _whole(duals.requirement)
        most = self.running_value(requirement)
        run = np.minimum(_whole(duals.run), most)
        run = np.where(self.scope.running == self.scope.count, most, run)
        pod = -_whole(-duals.pod) if self.scope.all_needed else _whole(duals.pod)
        return Prices(pod=pod, run=np.where(self.scope.running > 0, run, 0), requirement=requirement)

    def evaluate(self, prices: Prices, slack: int) -> Evaluation | None:
        """Return what ``prices`` prove; None if time is over or a price is absurd.

        ``slack`` is by how much the bound may miss what the prices could prove, in
        parts of `SCALE`: with some, near ties need no search.
        """
        scope, groups = self.scope, self.groups
        at = self._values_at(prices)
        value, bonus = at.pod, at.stay
        if (np.abs(value) + bonus > MOST_VALUE).any():
            return None
        number = len(groups.size)
        chunk = max(1, CELLS_AT_ONCE // len(scope.kinds))
        each = slack // int(groups.size.sum())
        priced = []
        for start in range(0, number, chunk):
            if self.late():
                return None
            part = np.arange(start, min(number, start + chunk))
            priced.append(self._priced(part, groups.come[part], at, each, self.budget))
        worth = np.concatenate([one for one, _ in priced])
        patterns = np.concatenate([found for _, found in priced])
        stays, comes = patterns[:, :, 0], patterns[:, :, 1]
        short = worth - (stays @ (value + bonus) + comes @ value)
        cut_off = bool((short > each).any())
        worth = np.maximum(0, worth - groups.cost)
        return Evaluation(prices, self._sum(prices, worth), worth, patterns, cut_off)

    def _priced(self, part: Ints, come: Indices, at: _Values, slack: int, budget: int) -> tuple[Ints, Indices]:
        """Return what the best pattern of each group in ``part`` is worth, and it."""
        groups = self.groups
        worth = np.zeros(len(come), np.int64)
        patterns = np.zeros((*come.shape, 2), np.int32)
        best_patterns(
            groups.demand, groups.room[part], groups.stay[part], come, at.pod, at.stay,
            at.mixes if len(at.mixes) == 1 else at.mixes[part], groups.alike[part], at.mix_of, slack, budget,
            worth, patterns,
        )  # fmt: skip
        return worth, patterns

    def quick_patterns(self, prices: Prices, slack: int, come: Indices) -> Indices:
        """Return good patterns, shape ``(groups, kinds, 2)``, of the pods that may ``come`` to each group.

        They prove nothing: few steps are taken.
        """
        size = self.groups.size
        each = slack // int(size.sum())
        return self._priced(np.arange(len(size)), come, self._values_at(prices), each, QUICK_BUDGET)[1]

    def more_patterns(self, found: Evaluation) -> Iterator[tuple[Ints, Indices]]:
        """Yield groups, and patterns of further nodes of them, of the pods not yet taken."""
        groups, at = self.groups, self._values_at(found.prices)
        left = self.scope.count - found.patterns.sum(axis=2)
        several = np.flatnonzero(groups.size > 1)
        for number in range(1, MOST_ALIKE):
            several = several[groups.size[several] > number]
            if not len(several) or self.late():
                return
            come = np.minimum(groups.come[several], np.maximum(left[several], 0)).astype(np.int32)
            _, patterns = self._priced(several, come, at, 0, MOST_ALIKE_BUDGET)
            some = patterns.any(axis=(1, 2))
            several, patterns = several[some], patterns[some]
            yield several, patterns
            left[several] -= patterns.sum(axis=2)

    def filling(self, prices: Prices) -> Callable[[int, Ints, Ints], Ints]:
        """Return what fills the rest of a node, given its group, its content by kind, and the pods to choose from."""
        groups, at = self.groups, self._values_at(prices)
        nothing = np.zeros(1, np.int32)

        def filled(group: int, content: Ints, left: Ints) -> Ints:
            room = groups.room[group] - content @ groups.demand
            come = np.minimum(groups.come[group], left - content).astype(np.int32)
            come[(groups.demand > room).any(axis=1)] = 0
            if not come.any():
                return content
            best = np.zeros((1, len(content), 2), np.int32)
            best_patterns(
                groups.demand, room[None], groups.stay[:1], come[None],
                # Also of pods that are worth nothing.
                at.pod + 1, at.stay, at.mixes[group % len(at.mixes)][None], nothing, at.mix_of[:1].copy(), 0,
                QUICK_BUDGET, np.zeros(1, np.int64), best,
            )  # fmt: skip
            return content + best[0, :, 1]

        return filled

    def _values_at(self, prices: Prices) -> _Values:
        pod, stay = self.values(prices)
        number, width = len(self.groups.size), self.groups.room.shape[1]
        if self.mixes_at is None:
            return _Values(pod, stay, self._mixes[None], np.full(number, -1))
        alone = np.broadcast_to(np.eye(width), (number, width, width))
        mixes = np.concatenate([self.mixes_at(pod)[:, None], alone], axis=1)
        return _Values(pod, stay, mixes, np.zeros(number, np.int64))

    def values(self, prices: Prices) -> tuple[Ints, Ints]:
        """Return what a pod is worth on a node, and how much more at home, by kind."""
        scope = self.scope
        placed = scope.objective.placed * SCALE
        stays = scope.objective.stays * SCALE
        for price, row in zip(prices.requirement, scope.requirements, strict=True):
            placed = placed + price * row.placed
            stays = stays + price * row.stays
        return placed + prices.run - prices.pod, stays * self.groups.staying

    def running_value(self, requirement: Ints) -> Ints:
        """Return what a running pod with a node is worth by kind, in parts."""
        value = self.scope.objective.running * SCALE
        for price, row in zip(requirement, self.scope.requirements, strict=True):
            value = value + price * row.running
        return value

    def _sum(self, prices: Prices, worth: Ints) -> int:
        scope = self.scope
        free_run = self.running_value(prices.requirement) - prices.run
        return (
            _dot(prices.pod, scope.count)
            + _dot(np.maximum(free_run, 0), scope.running)
            + _dot(self.groups.size, worth)
            - sum(int(price) * row.constant for price, row in zip(prices.requirement, scope.requirements, strict=True))
        )


def _whole(duals: Floats) -> Ints:
    return np.rint(np.clip(duals, 0, 2**12) * SCALE).astype(np.int64)


def _dot(one: Ints, other: Ints) -> int:
    return sum(int(a) * int(b) for a, b in zip(one, other, strict=True))
