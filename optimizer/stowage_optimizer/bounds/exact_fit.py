"""Nodes that would have to be full to the last byte.

Where all pods fit only without waste, some node holds at most the average number of
pods, and in every dimension wastes no more than all nodes together may. If no such
content exists, some pod has no node. Contents of so few pods are pairs of halves; a
sorted list of the halves finds those that fill a node.
"""

from math import comb

import numpy as np

from stowage_optimizer.bounds.phase import Bound, Phase, Question
from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.problem import Ints
from stowage_optimizer.search.search_arrays import overcommitted

MOST_HALVES = 500_000
"""More halves than this take too long, and leave pairs that happen to fit."""

MOST_CHANCES = 10_000
"""Pairs that may be expected to fill a node by coincidence; with more, some do."""

MOST_PAIRS = 100_000
"""More pairs than this that fill one dimension are not looked at any closer."""


def exact_fit_bound(question: Question, known: int) -> Bound | None:
    """Return that some pod stays without a node; None where that is not shown."""
    problem = question.problem
    members = problem.tier[problem.kind] <= question.tier
    total = int(members.sum())
    if question.phase is not Phase.PLACE or problem.worth is not None or total > known or not total:
        return None
    demand = problem.demand[problem.kind[members]]
    sizes = np.unique(demand, axis=0)
    most = total // len(problem.room)
    used = np.flatnonzero(sizes.any(axis=0))
    slack = problem.room.sum(axis=0) - demand.sum(axis=0)
    if not most or (slack < 0).any() or overcommitted(problem).any():
        # On an overcommitted node the waste of others is evened out.
        return None
    # The dimension with the least waste first: it leaves the fewest pairs.
    share = slack[used] / np.maximum(problem.room[:, used].mean(axis=0), 1)
    used, share = used[np.argsort(share)], np.minimum(share, 1)
    half = (most + 1) // 2
    number = comb(len(sizes) + half, half)
    if number > MOST_HALVES or number**2 * share.prod() > MOST_CHANCES:
        return None
    halves = _sums(sizes[:, used], half)
    halves = halves[np.argsort(halves[:, 0], kind="stable")]
    rooms = np.unique(problem.room[:, used], axis=0)
    if any(_fillable(halves, room, slack[used]) for room in rooms):
        return None
    return Bound(total - 1, ProofMethod.ENUMERATION)


def _sums(sizes: Ints, most: int) -> Ints:
    """Return the demand of every choice of up to ``most`` pods, shape ``(choices, dimensions)``."""
    # Of each size there are any number, which only adds contents that cannot be.
    level, ends = np.zeros((1, sizes.shape[1]), np.int64), [1] * len(sizes)
    levels = [level]
    for _ in range(most):
        # One pod more, of a kind that does not come before any of the others.
        grown = [level[:end] + size for end, size in zip(ends, sizes, strict=True)]
        ends = np.cumsum([len(part) for part in grown]).tolist()
        level = np.concatenate(grown)
        levels.append(level)
    return np.concatenate(levels)


def _fillable(halves: Ints, room: Ints, slack: Ints) -> bool:
    """Return whether two halves, sorted by the first dimension, fill ``room`` with a waste of at most ``slack``."""
    first = halves[:, 0]
    low = np.searchsorted(first, room[0] - slack[0] - first, side="left")
    high = np.searchsorted(first, room[0] - first, side="right")
    number = np.maximum(high - low, 0)
    if number.sum() > MOST_PAIRS:
        return True
    mine = np.repeat(np.arange(len(halves)), number)
    start = np.cumsum(number) - number
    other = np.arange(len(mine)) - start[mine] + low[mine]
    waste = room - halves[mine] - halves[other]
    return bool(((waste >= 0) & (waste <= slack)).all(axis=1).any())
