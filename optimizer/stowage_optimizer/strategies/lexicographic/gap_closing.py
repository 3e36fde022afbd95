"""The dual bound of a phase in slices of time, and closing the gap that it leaves."""

from dataclasses import dataclass, field

import numpy as np

from stowage_optimizer.bounds.dual import MOST_ROUNDS, DualSearch, dual_certificate
from stowage_optimizer.bounds.enumeration import Enumeration, recombine
from stowage_optimizer.bounds.phase import Bound, Phase, Prices
from stowage_optimizer.bounds.proofs import Proof
from stowage_optimizer.strategies.lexicographic.open_phase import AttemptContext, OpenPhase

ROUNDS = 4
"""Rounds of the tier's program that a slice has time for."""

DETERMINISTIC_ROUNDS = 40
"""Rounds of a slice in a deterministic solve."""

DETERMINISTIC_ROUNDS_S = 0.05
"""What they are charged."""


@dataclass(slots=True)
class DualSlices:
    """Searches prices for one phase, and records the bounds that they prove."""

    context: AttemptContext
    phase: OpenPhase
    search: DualSearch = field(init=False)
    _bound: Bound | None = None
    _end: float = 0.0

    def __post_init__(self) -> None:
        context = self.context
        self.search = DualSearch(
            context.question(self.phase),
            context.shared.assignment.astype(np.int64),
            self._now,
            context.program(self.phase),
        )

    @property
    def prices(self) -> Prices | None:
        """The best prices so far."""
        return self._bound.prices if self._bound else None

    def run(self, seconds: float, *, polish: bool) -> bool:
        """Go on for ``seconds``; return whether the bound got better, or still may.

        With ``polish`` also where only the prices can get better. Where that is not
        enough for some rounds it takes longer: one that is broken off was for nothing.
        """
        seconds = max(seconds, ROUNDS * self.search.program.sum.longest_s)
        context, before = self.context, self._bound and self._bound.value
        self._end = context.deadline(context.work_clock.now() + seconds)
        self._bound = self.search.run(
            self._end,
            good_enough=self.phase.reached(context.shared),
            rounds=DETERMINISTIC_ROUNDS if context.work_clock.deterministic else MOST_ROUNDS,
            polish=polish,
            share=True,
        )
        context.work_clock.spend(DETERMINISTIC_ROUNDS_S)
        bound = self._bound
        if bound is not None and self._better(bound.value):
            dual = dual_certificate(context.question(self.phase), context.packing, bound)
            context.add_bound(self.phase, bound.value, Proof(bound.method, dual))
        stuck = bound is not None and bound.value == before
        return not stuck or self.search.preparing

    def _now(self) -> float:
        return self.context.clock(self.phase, self._end)()

    def _better(self, bound: int) -> bool:
        known = self.phase.bound(self.context.shared)
        return bound > known if self.phase.phase is Phase.DISRUPT else bound < known


DETERMINISTIC_S = 0.2
"""What an enumeration may take and is charged, in CP-SAT's own seconds."""

MORE_TIME = 2
"""How much more time than a failed try makes another try worthwhile."""


@dataclass(slots=True)
class GapClosing:
    """Lists and combines patterns for one phase."""

    context: AttemptContext
    phase: OpenPhase
    _failed: tuple[int, Prices] | None = None
    _failed_s: float = 0.0
    _listing: tuple[Prices, Enumeration] | None = None

    def list_all(self, prices: Prices | None, seconds: float) -> bool:
        """Try to reach the bound, or prove the next; return whether either was done."""
        context, phase = self.context, self.phase
        aim = phase.bound(context.shared)
        if prices is None or not phase.gap(context.shared):
            return False
        if self._failed_before(aim, prices) and seconds < MORE_TIME * self._failed_s:
            return False
        end = context.deadline(context.work_clock.now() + seconds)
        closed = self._enumeration(prices).reach(
            aim, clock=context.clock(phase, end), deadline=end, deterministic_s=self._steps()
        )
        context.work_clock.spend(DETERMINISTIC_S)
        version = context.shared.version
        if closed is not None and closed.bound is not None:
            context.add_bound(phase, closed.bound.value, Proof(closed.bound.method))
        if closed is not None:
            context.offer(phase, closed.nodes)
        # On overcommitted nodes what was found may not be feasible.
        if (phase.bound(context.shared), context.shared.version) != (aim, version):
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
        context.work_clock.spend(DETERMINISTIC_S)
        context.offer(phase, found)
        return True

    def choose(self, search: DualSearch, seconds: float) -> bool:
        """Choose among the patterns of the tier, for all of its phases at once.

        Returns whether anything was tried. It begins once prices are found for the sum
        of the phases.
        """
        context, phase = self.context, self.phase
        if not phase.gap(context.shared) or not search.usable or search.preparing:
            return False
        chosen, work_clock = context.neighbourhoods(phase), context.work_clock
        end = work_clock.now() + seconds
        clock = context.clock(phase, end)
        tried = 0
        while clock() < end and not chosen.finished:
            placed = context.shared.assignment.astype(np.int64)
            left = context.deadline(end) - clock()
            found = chosen.improve(placed, left, deterministic=work_clock.deterministic)
            context.offer(phase, found)
            work_clock.spend(DETERMINISTIC_S)
            tried += 1
        return tried > 0

    def _enumeration(self, prices: Prices) -> Enumeration:
        if self._listing is None or self._listing[0] is not prices:
            question = self.context.question(self.phase)
            self._listing = (prices, Enumeration(question, prices))
        return self._listing[1]

    def _failed_before(self, aim: int, prices: Prices) -> bool:
        failed = self._failed
        return failed is not None and failed[0] == aim and failed[1] is prices

    def _steps(self) -> float | None:
        return DETERMINISTIC_S if self.context.work_clock.deterministic else None
