"""What everything that is tried to settle a phase works with."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stowage_optimizer.bounds.dual import DualSearch
from stowage_optimizer.bounds.question import Phase, Question
from stowage_optimizer.model.options import SolveOptions
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.search.mending import Mender
from stowage_optimizer.search.problem import Indices, Problem
from stowage_optimizer.strategies.bounds import Proof
from stowage_optimizer.strategies.lexicographic.board import Board
from stowage_optimizer.strategies.lexicographic.exact import MoveSearch
from stowage_optimizer.strategies.lexicographic.open_phase import OpenPhase
from stowage_optimizer.strategies.lexicographic.pace import Pace
from stowage_optimizer.strategies.strategy import Clock

NEVER_S = 10_000.0
"""Later than any solve ends."""


@dataclass(frozen=True, slots=True)
class Workbench:
    """What all attempts of one solve work with, and where their results go.

    Parameters
    ----------
    board
        Where bounds and finds go.
    packing, options
        The problem, and how to solve it.
    pace
        The thread's time.
    problem
        The board's problem, without room that nothing can use.
    mender
        Makes finds whole.
    searches
        Exact searches by tier, which several phases go on with.
    duals
        Searches for prices, by tier and phase, which later ones begin with.
    """

    board: Board
    packing: Packing
    options: SolveOptions
    pace: Pace
    problem: Problem
    mender: Mender
    searches: dict[int, MoveSearch] = field(default_factory=dict)
    duals: dict[tuple[int, Phase], DualSearch] = field(default_factory=dict)

    def question(self, phase: OpenPhase) -> Question:
        """Return what the bounds are asked of ``phase``."""
        return phase.question(self.problem)

    def clock(self, phase: OpenPhase, end: float) -> Clock:
        """Return a clock that is past ``end`` once nobody needs the answer."""

        def now() -> float:
            idle = self.board.closed or not phase.still_open(self.board)
            return end + 1.0 if idle else self.pace.now()

        return now

    def deadline(self, end: float) -> float:
        """Return ``end``, or a time that does not come where work is counted.

        There time must not tell, also not that of solvers that count by themselves.
        """
        return self.pace.now() + NEVER_S if self.pace.counted else end

    def limit(self, phase: OpenPhase, limit: int, proof: Proof) -> None:
        """Note that ``phase`` cannot be better than ``limit``."""
        if phase.phase is Phase.KEEP:
            self.board.limit_kept(phase.tier, limit)
        elif phase.phase is Phase.PLACE:
            self.board.limit_placed(phase.tier, limit, proof)
        else:
            self.board.limit_disturbed(phase.tier, limit, phase.placed, proof)

    def offer(self, phase: OpenPhase, nodes: Indices | None) -> None:
        """Offer what a bound of ``phase`` found; tiers below stay where they are."""
        if nodes is None:
            return
        problem = self.board.problem
        below = problem.tier[problem.kind] > phase.tier
        self.board.offer(np.where(below, problem.home, nodes), self.mender)
