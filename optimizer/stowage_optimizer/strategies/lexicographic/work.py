"""The working threads: search in one, proofs in another, or one after the other."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

from stowage_optimizer.model.options import SolveOptions
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.search.mending import Mender
from stowage_optimizer.strategies.lexicographic.board import Board
from stowage_optimizer.strategies.lexicographic.climbing import Climber
from stowage_optimizer.strategies.lexicographic.dual_slices import beyond_prices
from stowage_optimizer.strategies.lexicographic.exact import MoveSearch
from stowage_optimizer.strategies.lexicographic.pace import Pace
from stowage_optimizer.strategies.lexicographic.proving import Prover
from stowage_optimizer.strategies.strategy import Clock

FIRST_SHARE = 0.2
"""Share of the time after which the search has found nearly all that it will, if it
has found room for everybody."""

TURNS = (0.02, 0.1, 0.4, 1.0)
"""Shares of the time after which search and proof have each had another turn, where
there is one thread: most is settled early, and the rest needs long stretches."""


@dataclass(slots=True)
class Work:
    """Everything that is done in one solve.

    Parameters
    ----------
    board
        Where all results go.
    packing
        The problem.
    options
        Options of the solve.
    clock, deadline
        The real time, and when the work must end.
    """

    board: Board
    packing: Packing
    options: SolveOptions
    clock: Clock
    deadline: float

    def run(self) -> None:
        """Work until everything is proved or time is up, then close the board."""
        try:
            self._run()
        except Exception as error:  # the edge of the thread
            self.board.close(error)
        self.board.close()

    def _run(self) -> None:
        counted = self.options.deterministic
        pace = Pace(self.clock, counted)
        climber = Climber(self.board, pace, self.options.seed)
        climber.start()
        if self.board.finished:
            return
        threads = self.options.workers or len(os.sched_getaffinity(0))
        if counted or threads == 1:
            self._take_turns(climber, pace)
            return
        search = threading.Thread(target=self._search, args=(climber,), name="search")
        search.start()
        Prover(self.board, self.packing, self.options, pace).prove(self.deadline)
        search.join()

    def _search(self, climber: Climber) -> None:
        try:
            if not beyond_prices(self.board.problem):
                began = climber.pace.now()
                climber.climb(began + FIRST_SHARE * (self.deadline - began))
                self._refute(climber.pace)
            climber.climb(self.deadline)
        except Exception as error:  # the edge of the thread
            self.board.close(error)

    def _refute(self, pace: Pace) -> None:
        """Try every plan with fewer moves, where that is all there is to gain."""
        board = self.board
        if board.finished or board.closed:
            return
        mender = Mender(board.problem, strict=board.strict)
        moves = MoveSearch(board, pace, mender, board.problem.tiers - 1)
        if moves.everybody_placed:
            moves.run(self.deadline)

    def _take_turns(self, climber: Climber, pace: Pace) -> None:
        began = pace.now()
        total = self.deadline - began
        if pace.counted:
            total = self.options.time_limit_s
        prover = Prover(self.board, self.packing, self.options, pace)
        for turn in TURNS:
            until = began + turn * total
            climber.climb(pace.now() + (until - pace.now()) / 2)
            prover.prove(until)
        climber.climb(began + total)
