"""The dual bound of a phase, in slices of time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stowage_optimizer.bounds.bound import Bound
from stowage_optimizer.bounds.certificate import written
from stowage_optimizer.bounds.dual import MOST_ROUNDS, DualSearch
from stowage_optimizer.bounds.prices import Prices
from stowage_optimizer.bounds.question import Phase
from stowage_optimizer.search.problem import Problem
from stowage_optimizer.strategies.bounds import Proof
from stowage_optimizer.strategies.lexicographic.attempt_context import AttemptContext
from stowage_optimizer.strategies.lexicographic.open_phase import OpenPhase

MOST_PATTERN_ENTRIES = 1_000_000
"""Nodes times kinds from which the patterns take too much memory."""

COUNTED_ROUNDS = 40
"""Rounds of a slice where work is counted."""

COUNTED_ROUNDS_S = 0.05
"""What they are charged."""


def beyond_prices(problem: Problem) -> bool:
    """Return whether ``problem`` is too large for a linear program over patterns."""
    return len(problem.room) * len(problem.demand) > MOST_PATTERN_ENTRIES


@dataclass(slots=True)
class DualSlices:
    """Searches prices for one phase, and records the limits that they prove.

    Parameters
    ----------
    context, phase
        What it works with, and on.
    """

    context: AttemptContext
    phase: OpenPhase
    search: DualSearch = field(init=False)
    _bound: Bound | None = None
    _end: float = 0.0

    def __post_init__(self) -> None:
        context, key = self.context, (self.phase.tier, self.phase.phase)
        self.search = DualSearch(
            context.question(self.phase),
            context.shared.assignment.astype(np.int64),
            self._now,
            context.duals.get(key),
        )
        context.duals[key] = self.search

    @property
    def prices(self) -> Prices | None:
        """The best prices so far."""
        return self._bound.prices if self._bound else None

    def run(self, seconds: float, *, polish: bool) -> bool:
        """Go on for ``seconds``; return whether the limit got better, or still may.

        With ``polish`` also where only the prices can get better.
        """
        context, before = self.context, self._bound and self._bound.value
        self._end = context.deadline(context.work_clock.now() + seconds)
        self._bound = self.search.run(
            self._end,
            good_enough=self.phase.reached(context.shared),
            rounds=COUNTED_ROUNDS if context.work_clock.counted else MOST_ROUNDS,
            polish=polish,
        )
        context.work_clock.spend(COUNTED_ROUNDS_S)
        bound = self._bound
        if bound is not None and self._better(bound.value):
            dual = written(context.question(self.phase), context.packing, bound)
            context.limit(self.phase, bound.value, Proof(bound.method, dual))
        stuck = bound is not None and bound.value == before
        return not stuck or self.search.descending

    def _now(self) -> float:
        return self.context.clock(self.phase, self._end)()

    def _better(self, limit: int) -> bool:
        known = self.phase.limit(self.context.shared)
        return limit > known if self.phase.phase is Phase.DISRUPT else limit < known
