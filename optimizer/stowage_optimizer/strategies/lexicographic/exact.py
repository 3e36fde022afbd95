"""The exact search for few moves, where everybody may fit and few wait."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.search.mending import Mender
from stowage_optimizer.search.moves import (
    EXHAUSTED,
    FOUND,
    PAUSED,
    Quest,
    make_quest,
    seek,
)
from stowage_optimizer.search.problem import NOWHERE, Flags, Indices
from stowage_optimizer.search.seating import enter
from stowage_optimizer.search.state import NODE, State, make_state
from stowage_optimizer.search.terrain import Terrain, make_terrain, overcommitted
from stowage_optimizer.strategies.bounds import Proof
from stowage_optimizer.strategies.lexicographic.board import Board
from stowage_optimizer.strategies.lexicographic.pace import Pace

MOST_WAITING = 10
"""Waiting pods from which there are too many ways to make room."""

MOST_MOVES = 8
"""Moves from which even the smallest clusters take too long."""

STEPS = 400
"""Steps of this search that take about as long as one of the local search."""

SLICE_S = 0.01
"""Time between two looks at the clock."""

EVERY_MOVE_TRIED = Proof(ProofMethod.MOVES_EXHAUSTED)


@dataclass(slots=True)
class MoveSearch:
    """Looks for the fewest moves that place all waiting pods of the tiers so far.

    Only for tiers below which nothing is disturbed yet: then running pods of the tiers
    above stay at home in every optimal answer.

    Parameters
    ----------
    board
        Where finds and bounds go.
    pace
        This thread's time.
    mender
        Makes finds whole.
    tier
        The tier.
    """

    board: Board
    pace: Pace
    mender: Mender
    tier: int
    _terrain: Terrain = field(init=False)
    _state: State = field(init=False)
    _waiting: Indices = field(init=False)
    _everybody: int = field(init=False)
    _moves: int = 0
    _quest: Quest | None = None

    def __post_init__(self) -> None:
        problem = self.board.problem
        in_play = problem.tier[problem.kind] <= self.tier
        open_nodes = problem.allowed.sum(axis=1)[problem.mask][problem.kind]
        pending = in_play & (problem.home == NOWHERE) & (open_nodes > 0)
        self._waiting = np.flatnonzero(pending).astype(np.int32)
        running = in_play & (problem.home != NOWHERE)
        self._everybody = len(self._waiting) + int(running.sum())

    def promising(self) -> bool:
        """Tell whether the search may settle the tier."""
        board, above = self.board, self.tier - 1
        calm_above = above < 0 or (board.proved(above) and not board.value[above][2])
        return (
            calm_above
            and len(self._waiting) <= MOST_WAITING
            and board.bounds[self.tier].placed == self._everybody
            and self._moves <= MOST_MOVES
            and not overcommitted(board.problem).any()
        )

    @property
    def everybody_placed(self) -> bool:
        """Whether nothing but moves is left to save."""
        return self.board.value[self.tier][1] == self._everybody

    def run(self, until: float) -> None:
        """Search until the fewest moves are found, or too many, or ``until``."""
        while self.promising() and not self.board.closed:
            now = self.pace.now()
            if now >= until:
                return
            quest = self._quest or self._begin()
            steps = self.pace.steps(min(SLICE_S, until - now))
            ended, used = seek(STEPS * steps, quest, self._terrain, self._state)
            self.pace.spend_steps(used // STEPS)
            if ended == PAUSED:
                continue
            self._quest = None
            if ended == FOUND:
                self._found()
                return
            if ended == EXHAUSTED:
                self._moves += 1
                self._limit()

    def _begin(self) -> Quest:
        board = self.board
        if not self._moves:
            self._terrain = make_terrain(board.problem, strict=board.strict)
            self._state = make_state(self._terrain, board.problem.tiers, seed=0)
        enter(board.problem.home, self.tier, self._frozen(), self._terrain, self._state)
        homes = board.problem.home[board.problem.home != NOWHERE]
        longest = max(
            len(board.problem.room), int(np.bincount(homes, minlength=1).max())
        )
        self._quest = make_quest(self._waiting, self._moves, self._frozen(), longest)
        return self._quest

    def _frozen(self) -> Flags:
        return self.board.frozen(self.tier)

    def _found(self) -> None:
        board = self.board
        problem = board.problem
        below = problem.tier[problem.kind] > self.tier
        nodes = self._state.items[:, NODE]
        board.offer(np.where(below, problem.home, nodes), self.mender)
        self._limit()

    def _limit(self) -> None:
        """Whoever places everybody evicts nobody, and moves so many at least."""
        self.board.limit_disturbed(
            self.tier, 2 * self._moves, self._everybody, EVERY_MOVE_TRIED
        )
