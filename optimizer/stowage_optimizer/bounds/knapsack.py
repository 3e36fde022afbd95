"""The surrogate knapsack: all nodes as one, all resources as one weighted sum.

Whatever fits the nodes fits the total room in every weighted sum of the resources.
With one resource the most pods that fit are the smallest ones, so that the bound is
found by sorting. All weights are integers that err on the small side: the bound is
exact for them, and true whatever they are.
"""

from collections.abc import Callable, Iterator
from itertools import permutations

import numpy as np

from stowage_optimizer.bounds.phase import Bound, Phase, Question
from stowage_optimizer.bounds.scope import Scope, make_scope
from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.options import Clock
from stowage_optimizer.model.problem import Ints

WHOLE = 2**36
"""Weight of the total room of a dimension."""

PARTS = 64
"""Parts that the dimensions share as their multipliers."""

MOST_ITEMS = 2**18
"""More items than this could overflow the sums."""

FIRST_STEP = 16
"""Parts by which the first round of multipliers differs."""


def knapsack_bound(question: Question, *, clock: Clock, deadline: float, good_enough: int = 0) -> Bound | None:
    """Return the bound on what is kept or placed; None where it says nothing.

    Parameters
    ----------
    question
        Of the phase `KEEP` or `PLACE`; of `DISRUPT` a knapsack knows nothing.
    clock, deadline
        When to stop trying other weights; one is always tried.
    good_enough
        A bound that need not be beaten, such as what is reached.
    """
    scope = make_scope(question)
    # The lightest pods are the most only where each counts 1.
    weighed = question.problem.worth is not None
    if weighed or question.phase is Phase.DISRUPT or len(scope.items) > MOST_ITEMS:
        return None
    demand = _normalised(scope)
    if not demand.shape[1]:
        return None
    fill = _Fill(question, scope)
    constant = scope.objective.constant
    best = None
    for shares in _shares(demand.shape[1]):
        bound = _descend(lambda at: fill(demand @ at), shares, clock, deadline)
        best = bound if best is None else min(best, bound)
        if constant + best[0] <= good_enough or clock() > deadline:
            break
    return None if best is None else Bound(constant + best[0], ProofMethod.KNAPSACK)


Filling = tuple[int, float]
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
    """Fills the total room with the lightest pods that count."""

    # Running pods that are known to stay go in before all others. The tiers above are
    # known to place so many: their lightest ones go in next. Any set with so many of
    # them and more in total is at least as heavy.

    def __init__(self, question: Question, scope: Scope) -> None:
        tier = question.problem.tier[scope.kinds]
        upper = tier < question.tier
        placing = question.phase is Phase.PLACE
        self._stays = scope.running if _everybody_kept(question) else 0 * scope.running
        count = scope.count - self._stays
        self._upper = np.where(upper, count, 0)
        self._own = count if placing else np.where(upper, 0, scope.running)
        self._placing, self._forced = placing, 0
        if question.tier:
            settled = _above(question) - int(scope.count[upper].sum())
            known = settled + int(self._stays[upper].sum())
            self._forced = question.reached[question.tier - 1].placed - known

    def __call__(self, weight: Ints) -> Filling:
        order = np.argsort(weight, kind="stable")
        left = WHOLE * PARTS - int((self._stays * weight).sum())
        weight, upper = weight[order], self._upper[order]
        before = np.cumsum(upper) - upper
        forced = np.clip(self._forced - before, 0, upper)
        left -= int((forced * weight).sum())
        wanted, certain = self._own[order], 0
        if self._placing:
            wanted, certain = wanted - forced, int(forced.sum() + self._stays.sum())
        most, part = _how_many(weight, wanted, left)
        return certain + most, part


def _everybody_kept(question: Question) -> bool:
    """Return whether every running pod down to the tier is known to keep a node: where placing is asked for."""
    problem = question.problem
    tiers = problem.tier[problem.kind][problem.home >= 0]
    running = np.bincount(tiers, minlength=problem.tiers)
    return question.phase is Phase.PLACE and all(
        question.reached[tier].kept >= running[tier] for tier in range(question.tier + 1)
    )


def _above(question: Question) -> int:
    problem = question.problem
    return int((problem.tier[problem.kind] < question.tier).sum())


def _how_many(weight: Ints, count: Ints, room: int) -> Filling:
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


def _descend(fill: Callable[[Ints], Filling], shares: list[int], clock: Clock, deadline: float) -> Filling:
    """Shift parts between dimensions, ever fewer at a time, while the bound falls."""
    best = fill(np.array(shares, np.int64))
    step = FIRST_STEP
    while step:
        improved = False
        for source, target in permutations(range(len(shares)), 2):
            if shares[source] < step or clock() > deadline:
                continue
            tried = list(shares)
            tried[source] -= step
            tried[target] += step
            found = fill(np.array(tried, np.int64))
            if found < best:
                best, shares, improved = found, tried, True
        if not improved:
            step //= 2
    return best
