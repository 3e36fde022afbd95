"""The surrogate knapsack: all nodes as one, all resources as one weighted sum.

Whatever fits the nodes fits the total room in every weighted sum of the resources.
With one resource the most pods that fit are the smallest ones, so that the limit is
found by sorting. All weights are integers that err on the small side: the limit is
exact for them, and true whatever they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations

import numpy as np

from optimizer.bounds.bound import Bound
from optimizer.bounds.question import Phase, Question
from optimizer.bounds.scope import Scope, make_scope
from optimizer.model.certificate import ProofMethod
from optimizer.search.problem import Ints
from optimizer.strategies.strategy import Clock

WHOLE = 2**36
"""Weight of the total room of a dimension."""

PARTS = 64
"""Parts that the dimensions share as their multipliers."""

MOST_ITEMS = 2**18
"""More items than this could overflow the sums."""

FIRST_STEP = 16
"""Parts by which the first round of multipliers differs."""


def knapsack_bound(
    question: Question, *, clock: Clock, deadline: float, good_enough: int = 0
) -> Bound | None:
    """Return the limit on what is kept or placed; None where it says nothing.

    Parameters
    ----------
    question
        Of the phase `KEEP` or `PLACE`; of `DISTURB` a knapsack knows nothing.
    clock, deadline
        When to stop trying other weights; one is always tried.
    good_enough
        A limit that need not be beaten, such as what is reached.
    """
    scope = make_scope(question)
    if question.phase is Phase.DISTURB or len(scope.items) > MOST_ITEMS:
        return None
    demand = _normalised(scope)
    if not demand.shape[1]:
        return None
    fill = _Fill(question, scope)
    constant = scope.objective.constant
    best = None
    for shares in _shares(demand.shape[1]):
        limit = _descend(lambda at: fill(demand @ at), shares, clock, deadline)
        best = limit if best is None else min(best, limit)
        if constant + best[0] <= good_enough or clock() > deadline:
            break
    return None if best is None else Bound(constant + best[0], ProofMethod.KNAPSACK)


Limit = tuple[int, float]
"""How many fit, and which part of the next one."""


def _normalised(scope: Scope) -> Ints:
    """Return the demand in parts of the total room, by kind and dimension in use."""
    total = [sum(map(int, column)) for column in scope.room.T]
    used = [d for d in range(len(total)) if scope.demand[:, d].any()]
    weights = np.zeros((len(scope.kinds), len(used)), np.int64)
    for at, dimension in enumerate(used):
        exact = scope.demand[:, dimension] * (WHOLE / max(1, total[dimension]))
        # Doubles are right to a few parts of 2^52: one less is surely not too heavy.
        floor = np.minimum(exact, WHOLE).astype(np.int64)
        weights[:, at] = np.maximum(floor - 1, 0)
    return weights


class _Fill:
    """Fills the total room with the lightest pods that count.

    The tiers above are known to place so many: their lightest ones go in first. Any
    set with so many of them and more in total is at least as heavy.
    """

    def __init__(self, question: Question, scope: Scope) -> None:
        problem, tier = question.problem, question.problem.tier[scope.kinds]
        self._upper = tier < question.tier
        self._count = scope.count
        self._counts_upper = question.phase is Phase.PLACE
        own = scope.count if self._counts_upper else scope.running
        self._wanted = np.where(self._upper & (not self._counts_upper), 0, own)
        self._forced = 0
        if question.tier:
            above = int((problem.tier[problem.kind] < question.tier).sum())
            settled = above - int(scope.count[self._upper].sum())
            self._forced = question.reached[question.tier - 1].placed - settled

    def __call__(self, weight: Ints) -> Limit:
        order = np.argsort(weight, kind="stable")
        weight = weight[order]
        upper = np.where(self._upper, self._count, 0)[order]
        before = np.cumsum(upper) - upper
        forced = np.clip(self._forced - before, 0, upper)
        left = WHOLE * PARTS - int((forced * weight).sum())
        wanted = self._wanted[order]
        if self._counts_upper:
            wanted = wanted - forced
        most, part = _how_many(weight, wanted, left)
        return most + (int(forced.sum()) if self._counts_upper else 0), part


def _how_many(weight: Ints, count: Ints, room: int) -> Limit:
    """Return how many fit, taking them in the order given."""
    heavy = np.cumsum(weight * count)
    full = int(np.searchsorted(heavy, room, side="right"))
    most = int(count[:full].sum())
    if full == len(weight) or room < 0:
        return most, 0.0
    left = room - (int(heavy[full - 1]) if full else 0)
    more, rest = divmod(left, int(weight[full]))
    return most + more, rest / int(weight[full])


def _shares(dimensions: int) -> Iterator[list[int]]:
    """Yield where to start: everything on one dimension, or spread over all."""
    spread = [PARTS // dimensions] * dimensions
    spread[0] += PARTS - sum(spread)
    yield spread
    for one in range(dimensions):
        yield [PARTS * (one == other) for other in range(dimensions)]


def _descend(
    limit: Callable[[Ints], Limit], shares: list[int], clock: Clock, deadline: float
) -> Limit:
    """Shift parts between dimensions, ever fewer at a time, while the limit falls."""
    best = limit(np.array(shares, np.int64))
    step = FIRST_STEP
    while step:
        improved = False
        for source, target in permutations(range(len(shares)), 2):
            if shares[source] < step or clock() > deadline:
                continue
            tried = list(shares)
            tried[source] -= step
            tried[target] += step
            found = limit(np.array(tried, np.int64))
            if found < best:
                best, shares, improved = found, tried, True
        if not improved:
            step //= 2
    return best
