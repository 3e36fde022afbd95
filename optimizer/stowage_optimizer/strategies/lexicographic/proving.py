"""Proofs: each open phase has its turn, and tries the cheapest that it has left.

A phase is asked about only where everything that comes before it is settled or at
least reached, so that no later find can take the ground from under a proof. What is
tried while the search goes on is remembered by what it depends on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from stowage_optimizer.bounds.question import Phase
from stowage_optimizer.model.options import SolveOptions
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.search.mending import Mender
from stowage_optimizer.search.slack import without_slack
from stowage_optimizer.strategies.lexicographic.attempt import Attempt
from stowage_optimizer.strategies.lexicographic.board import Board
from stowage_optimizer.strategies.lexicographic.open_phase import ANYTHING, OpenPhase
from stowage_optimizer.strategies.lexicographic.pace import Pace
from stowage_optimizer.strategies.lexicographic.workbench import Workbench


@dataclass(slots=True)
class Prover:
    """Tightens the board's bounds, and offers what it finds on the way.

    Parameters
    ----------
    board
        Where everything goes.
    packing, options
        The problem, and how to solve it.
    pace
        This thread's time.
    """

    board: Board
    packing: Packing
    options: SolveOptions
    pace: Pace
    _bench: Workbench = field(init=False)
    _attempts: dict[tuple[object, ...], Attempt] = field(default_factory=dict)

    def __post_init__(self) -> None:
        board = self.board
        self._bench = Workbench(
            board=board,
            packing=self.packing,
            options=self.options,
            pace=self.pace,
            problem=without_slack(board.problem),
            mender=Mender(board.problem, strict=board.strict),
        )

    def prove(self, until: float) -> None:
        """Work until everything is proved, or ``until``."""
        while (now := self.pace.now()) < until:
            version = self.board.version
            if self.board.closed or self.board.finished:
                return
            if self._step(until):
                continue
            if self.pace.counted:
                return
            self.board.await_news(version, until - now)

    def _step(self, until: float) -> bool:
        """Go on with the open phase that had the fewest stages; tell if any could."""
        attempts = [self._attempt(phase) for phase in self._open()]
        attempts.sort(key=lambda attempt: attempt.stages)
        return any(attempt.go_on(until) for attempt in attempts)

    def _attempt(self, phase: OpenPhase) -> Attempt:
        attempt = self._attempts.get(phase.ground)
        if attempt is None:
            attempt = Attempt(self._bench, phase)
            self._attempts[phase.ground] = attempt
        return attempt

    def _open(self) -> Iterator[OpenPhase]:
        """Yield the open phases of the first tier that is not proved.

        The disturbance is asked about also where placing is not settled: its bound
        holds for every assignment that places as many or more.
        """
        board = self.board
        value = board.value
        for tier in range(board.problem.tiers):
            if board.proved(tier):
                continue
            kept, placed, calm = value[tier]
            bounds = board.bounds[tier]
            if board.strict and kept < bounds.kept:
                yield OpenPhase(tier, Phase.KEEP, value)
                return
            if placed < bounds.placed:
                yield OpenPhase(tier, Phase.PLACE, value)
            if -calm > bounds.disturbed:
                yield OpenPhase(tier, Phase.DISTURB, value)
            yield from self._below(tier)
            return

    def _below(self, tier: int) -> Iterator[OpenPhase]:
        """Yield what holds for the tiers below whatever the tiers above reach."""
        board = self.board
        for below in range(tier + 1, board.problem.tiers):
            if board.value[below][1] < board.bounds[below].placed:
                value = (ANYTHING,) * board.problem.tiers
                yield OpenPhase(below, Phase.PLACE, value)
