"""Closing the gap that a dual bound leaves, by the patterns that its prices admit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stowage_optimizer.bounds.dual import DualSearch
from stowage_optimizer.bounds.enumeration import Enumeration
from stowage_optimizer.bounds.prices import Prices
from stowage_optimizer.bounds.recombination import recombine
from stowage_optimizer.strategies.bounds import Proof
from stowage_optimizer.strategies.lexicographic.attempt_context import AttemptContext
from stowage_optimizer.strategies.lexicographic.open_phase import OpenPhase

COUNTED_S = 0.2
"""What an enumeration may take and is charged, in CP-SAT's own seconds."""

MORE_TIME = 2
"""How much more time than a failed try makes another try worthwhile."""


@dataclass(slots=True)
class Closing:
    """Lists and combines patterns for one phase.

    Parameters
    ----------
    context, phase
        What it works with, and on.
    """

    context: AttemptContext
    phase: OpenPhase
    _failed: tuple[int, Prices] | None = None
    _failed_s: float = 0.0
    _listing: tuple[Prices, Enumeration] | None = None

    def list_all(self, prices: Prices | None, seconds: float) -> bool:
        """Try to reach the limit, or prove the next; return whether either was done."""
        context, phase = self.context, self.phase
        aim = phase.limit(context.shared)
        if prices is None or not phase.gap(context.shared):
            return False
        if self._failed_before(aim, prices) and seconds < MORE_TIME * self._failed_s:
            return False
        end = context.deadline(context.work_clock.now() + seconds)
        closed = self._enumeration(prices).reach(
            aim,
            clock=context.clock(phase, end),
            deadline=end,
            deterministic_s=self._steps(),
        )
        context.work_clock.spend(COUNTED_S)
        version = context.shared.version
        if closed is not None and closed.bound is not None:
            context.limit(phase, closed.bound.value, Proof(closed.bound.method))
        if closed is not None:
            context.offer(phase, closed.nodes)
        # On overcommitted nodes what was found may not be feasible.
        if (phase.limit(context.shared), context.shared.version) != (aim, version):
            return True
        self._failed, self._failed_s = (aim, prices), seconds
        return False

    def recombine(self, search: DualSearch, seconds: float) -> bool:
        """Combine the patterns of a dual bound; return whether there was a need."""
        context, phase = self.context, self.phase
        if not phase.gap(context.shared):
            return False
        end = context.deadline(context.work_clock.now() + seconds)
        found = recombine(
            search,
            context.shared.assignment.astype(np.int64),
            phase.better(context.shared),
            clock=context.clock(phase, end),
            deadline=end,
            deterministic_s=self._steps(),
        )
        context.work_clock.spend(COUNTED_S)
        context.offer(phase, found)
        return True

    def _enumeration(self, prices: Prices) -> Enumeration:
        if self._listing is None or self._listing[0] is not prices:
            question = self.context.question(self.phase)
            self._listing = (prices, Enumeration(question, prices))
        return self._listing[1]

    def _failed_before(self, aim: int, prices: Prices) -> bool:
        failed = self._failed
        return failed is not None and failed[0] == aim and failed[1] is prices

    def _steps(self) -> float | None:
        return COUNTED_S if self.context.work_clock.counted else None
