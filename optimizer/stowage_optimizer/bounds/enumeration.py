"""Closing a gap: list every node content that could still help, and combine them.

At prices that prove the bound L, an assignment worth V loses at most L - V over all
nodes. So every node of a better assignment holds a pattern that is worth at most so
much less than the best one there. If these are few, which of them go together is a
small exact problem; if none do, nothing better exists.

Where no price admits few enough, the patterns that a dual bound has collected are
combined instead: they are what nodes hold in assignments near the bound. That is often
better than what a local search has found, and proves nothing.
"""

from dataclasses import dataclass

import numpy as np

from stowage_optimizer.bounds.dual import DualSearch
from stowage_optimizer.bounds.groups import make_groups, mixes_of
from stowage_optimizer.bounds.lagrangian import Evaluation, Lagrangian
from stowage_optimizer.bounds.master import Patterns
from stowage_optimizer.bounds.pattern_listing import list_patterns
from stowage_optimizer.bounds.phase import SCALE, Bound, Phase, Prices, Question
from stowage_optimizer.bounds.scope import make_scope, next_worse
from stowage_optimizer.bounds.set_packing import assignment_of, combine, target_of
from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.options import Clock
from stowage_optimizer.model.problem import Indices, Ints

MOST_PATTERNS = 4_000
"""More patterns than this are not combined."""

PATTERNS_PER_S = 20_000
"""Patterns that are combined for each second that there is: more take too long."""

MOST_OF_GROUP = 4_000
"""More patterns than this of one group are not listed."""

LEAST_BUDGET = 500_000
"""Steps on the list of one group, a few milliseconds."""

BUDGET = 20_000_000
"""Steps on all lists, shared evenly where that is more than `LEAST_BUDGET`."""

RESERVE = 0.9
"""Share of the time left that the combination gets."""


@dataclass(frozen=True, slots=True)
class Enumerated:
    """What the enumeration found.

    Parameters
    ----------
    bound
        Nothing better exists. None where time was over before that was known.
    nodes
        Node by item of the best assignment found, negative for none, which is as good
        as the aim, and as the bound if there is one; None where nothing is. On
        overcommitted nodes it may not be feasible, so that it must be repaired
        before it is used.
    """

    bound: Bound | None
    nodes: Indices | None


class Enumeration:
    """What one dual bound leaves open, asked for one aim after another.

    The fewer patterns could help the nearer the aim is to the bound: so it is quickest
    to begin there and to continue with the next worse value, which proves something
    every time.
    """

    def __init__(self, question: Question, prices: Prices) -> None:
        self._question, self._prices = question, prices
        self._scope = make_scope(question)
        self._groups = make_groups(self._scope)
        self._found: Evaluation | None = None

    def reach(
        self, aim: int, *, clock: Clock, deadline: float, deterministic_s: float | None = None
    ) -> Enumerated | None:
        """Return whether anything is as good as ``aim``; None if that is not known.

        Parameters
        ----------
        deterministic_s
            CP-SAT's own limit in its steps, for a deterministic solve.
        """
        question, scope, groups = self._question, self._scope, self._groups
        if groups is None:
            return None
        exact = Lagrangian(scope, groups, lambda: clock() > deadline)
        self._found = self._found or exact.evaluate(self._prices, 0)
        target = target_of(question, scope, aim)
        most = min(MOST_PATTERNS, int(PATTERNS_PER_S * max(0.0, deadline - clock())))
        patterns = _listed(exact, self._found, target, most)
        if patterns is None or clock() > deadline:
            return None
        worse = next_worse(question, aim)
        nothing = Enumerated(Bound(worse, ProofMethod.ENUMERATION), None)
        if not all(map(len, patterns)):
            return nothing
        every = Patterns.of(np.repeat(np.arange(len(patterns)), [*map(len, patterns)]), np.concatenate(patterns))
        best = combine(scope, groups, every, target, limit_s=RESERVE * (deadline - clock()), steps=deterministic_s)
        nodes = None if best.content is None else assignment_of(question, scope, best.content)
        if best.bound is None:
            return None if nodes is None else Enumerated(None, nodes)
        if best.value is None:
            return nothing
        value = best.value + scope.objective.constant
        bound = -value if question.phase is Phase.DISRUPT else value
        return Enumerated(Bound(bound, ProofMethod.ENUMERATION), nodes)


def _listed(exact: Lagrangian, found: Evaluation | None, target: int, most: int) -> list[Indices] | None:
    """Return the patterns of each group that ``target`` allows; None if too many."""
    if found is None:
        return None
    gap = max(-1, found.bound - target * SCALE)
    groups, patterns, total = exact.groups, [], 0
    value, bonus = exact.values(found.prices)
    mixes = mixes_of(groups.demand, groups.room)
    budget = max(LEAST_BUDGET, BUDGET // len(groups.size))
    buffer = np.zeros((MOST_OF_GROUP, len(exact.scope.kinds), 2), np.int32)
    for group in range(len(groups.size)):
        if exact.late():
            return None
        number = list_patterns(
            groups.demand, groups.room[group], groups.stay[group], groups.come[group], value, bonus, mixes,
            int(found.worth[group]) - gap, gap + 1, budget, buffer,
        )  # fmt: skip
        total += number
        if number < 0 or total > most:
            return None
        patterns.append(buffer[:number].copy())
    return patterns


MOST_COMBINED = 6_000
"""More patterns than this are not combined."""


def recombine(
    search: DualSearch, placed: Ints, aim: int, *, clock: Clock, deadline: float, deterministic_s: float | None = None
) -> Indices | None:
    """Return an assignment that is as good as ``aim``, or None.

    Parameters
    ----------
    placed
        Node by item of the best assignment known, negative for none.
    aim
        What is wanted at least, in the phase's numbers.
    deterministic_s
        CP-SAT's own limit in its steps, for a deterministic solve.

    Returns
    -------
    Node by item, as `Enumerated` has it.
    """
    if not search.usable:
        return None
    program, scope = search.program, search.scope
    program.know(placed)
    known = program.master.patterns
    if len(known) > MOST_COMBINED or clock() > deadline:
        return None
    target = target_of(search.question, scope, aim)
    best = combine(scope, program.groups, known, target, limit_s=deadline - clock(), steps=deterministic_s)
    return None if best.content is None else assignment_of(search.question, scope, best.content)
