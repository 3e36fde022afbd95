"""What all attempts to settle a phase work with."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stowage_optimizer.bounds.dual import DualSearch
from stowage_optimizer.bounds.question import Phase, Question
from stowage_optimizer.model.options import Clock, SolveOptions
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.search.mending import Mender
from stowage_optimizer.search.problem import Indices, Problem
from stowage_optimizer.strategies.bounds import Proof
from stowage_optimizer.strategies.lexicographic.exact import MoveSearch
from stowage_optimizer.strategies.lexicographic.open_phase import OpenPhase
from stowage_optimizer.strategies.lexicographic.shared_state import SharedState
from stowage_optimizer.strategies.lexicographic.work_clock import WorkClock

NEVER_S = 10_000.0
"""Later than any solve ends."""


@dataclass(frozen=True, slots=True)
class AttemptContext:
    """What all attempts of one solve work with, and where their results go.

    Parameters
    ----------
    shared
        Where bounds and finds go.
    packing, options
        The problem, and how to solve it.
    work_clock
        The thread's time.
    problem
        The shared problem, without room that nothing can use.
    mender
        Makes finds whole.
    searches
        Exact searches by tier, which several phases continue.
    duals
        Searches for prices, by tier and phase, which later ones begin with.
    """

    shared: SharedState
    packing: Packing
    options: SolveOptions
    work_clock: WorkClock
    problem: Problem
    mender: Mender
    searches: dict[int, MoveSearch] = field(default_factory=dict)
    duals: dict[tuple[int, Phase], DualSearch] = field(default_factory=dict)

    def question(self, phase: OpenPhase) -> Question:
        """Return what the bounds are asked of ``phase``."""
        return phase.question(self.problem)

    def clock(self, phase: OpenPhase, end: float) -> Clock:
        """Return a clock that is past ``end`` once the answer is not needed."""

        def now() -> float:
            idle = self.shared.closed or not phase.still_open(self.shared)
            return end + 1.0 if idle else self.work_clock.now()

        return now

    def deadline(self, end: float) -> float:
        """Return ``end``, or a time that does not come where work is counted.

        There time must not matter, not even to solvers that measure it themselves.
        """
        return self.work_clock.now() + NEVER_S if self.work_clock.counted else end

    def limit(self, phase: OpenPhase, limit: int, proof: Proof) -> None:
        """Note that ``phase`` cannot be better than ``limit``."""
        if phase.phase is Phase.KEEP:
            self.shared.limit_kept(phase.tier, limit)
        elif phase.phase is Phase.PLACE:
            self.shared.limit_placed(phase.tier, limit, proof)
        else:
            self.shared.limit_disruption(phase.tier, limit, phase.placed, proof)

    def offer(self, phase: OpenPhase, nodes: Indices | None) -> None:
        """Offer what a bound of ``phase`` found; tiers below stay where they are."""
        if nodes is None:
            return
        problem = self.shared.problem
        below = problem.tier[problem.kind] > phase.tier
        self.shared.offer(np.where(below, problem.home, nodes), self.mender)
