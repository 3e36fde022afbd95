"""Better assignments from the patterns that a dual bound has collected.

The patterns that prices call for are what nodes hold in assignments near the bound.
Which of them go together well is often better than what a local search has found, and
proves nothing: there may be better patterns that were never considered.
"""

from __future__ import annotations

import numpy as np

from stowage_optimizer.bounds.combination import Combination, assignment_of, target_of
from stowage_optimizer.bounds.dual import DualSearch
from stowage_optimizer.model.options import Clock
from stowage_optimizer.search.problem import Indices, Ints

MOST_PATTERNS = 6_000
"""More patterns than this are not combined."""


def recombine(
    search: DualSearch,
    placed: Ints,
    aim: int,
    *,
    clock: Clock,
    deadline: float,
    deterministic_s: float | None = None,
) -> Indices | None:
    """Return an assignment that is as good as ``aim``, or None.

    Parameters
    ----------
    search
        Where the patterns come from.
    placed
        Node by item of the best assignment known, negative for none.
    aim
        What is wanted at least, in the phase's numbers.
    clock, deadline
        When to stop.
    deterministic_s
        CP-SAT's own limit in its steps, where work is counted.

    Returns
    -------
    Node by item, as `Enumerated` has it.
    """
    if not search.usable:
        return None
    search.know(placed)
    scope, groups = search.scope, search.groups
    empty = np.zeros((len(scope.kinds), 2), np.int32)
    patterns = [[empty] for _ in groups.size]
    for group, pattern in search.master.patterns():
        patterns[group].append(pattern)
    if sum(map(len, patterns)) > MOST_PATTERNS or clock() > deadline:
        return None
    target = target_of(search.question, scope, aim)
    model = Combination(scope, groups, [np.array(p) for p in patterns], target)
    best = model.solve(deadline - clock(), deterministic_s)
    if best.value is None:
        return None
    return assignment_of(search.question, scope, groups, model.content())
