"""The exact search for the fewest moves, where all pods may fit and few wait."""

from dataclasses import dataclass, field

import numpy as np

from stowage_optimizer.bounds.phase import Phase
from stowage_optimizer.bounds.proofs import Proof
from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.problem import NOWHERE, Flags, Indices
from stowage_optimizer.search.moves import EXHAUSTED, FOUND, PAUSED, SearchStack, make_stack, seek
from stowage_optimizer.search.placement import enter
from stowage_optimizer.search.repair import Repairer
from stowage_optimizer.search.search_arrays import SearchArrays, make_arrays, overcommitted
from stowage_optimizer.search.state import NODE, State, make_state
from stowage_optimizer.strategies.lexicographic.shared_state import (
    ANYTHING,
    DETERMINISTIC_RATE,
    ConditionalBound,
    SharedState,
    WorkClock,
)

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

    Only for tiers below which nothing is disrupted yet: then running pods of the tiers
    above stay at home in every optimal answer.
    """

    shared: SharedState
    work_clock: WorkClock
    repairer: Repairer
    tier: int
    _arrays: SearchArrays = field(init=False)
    _state: State = field(init=False)
    _waiting: Indices = field(init=False)
    _whole: int = field(init=False)
    _moves: int = 0
    _stack: SearchStack | None = None

    def __post_init__(self) -> None:
        problem = self.shared.problem
        in_play = problem.tier[problem.kind] <= self.tier
        open_nodes = problem.allowed.sum(axis=1)[problem.mask][problem.kind]
        pending = in_play & (problem.home == NOWHERE) & (open_nodes > 0)
        self._waiting = np.flatnonzero(pending).astype(np.int32)
        running = in_play & (problem.home != NOWHERE)
        self._whole = int(problem.counted(pending | running).sum())

    def promising(self) -> bool:
        """Return whether the search may settle the tier."""
        shared, above = self.shared, self.tier - 1
        above_undisrupted = above < 0 or (shared.proved(above) and not shared.value[above][2])
        return (
            # Not every way to give pods devices is tried: that none was found proves nothing.
            shared.problem.bins is None
            and above_undisrupted
            and len(self._waiting) <= MOST_WAITING
            and shared.bounds[self.tier].placed == self._whole
            and self._moves <= MOST_MOVES
            and not overcommitted(shared.problem).any()
        )

    @property
    def all_placed(self) -> bool:
        """Whether nothing but moves is left to save."""
        return self.shared.value[self.tier][1] == self._whole

    def run(self, until: float) -> None:
        """Search until the fewest moves are found, or too many, or ``until``."""
        while self.promising() and not self.shared.closed:
            now = self.work_clock.now()
            if now >= until:
                return
            stack = self._stack or self._begin()
            steps = self.work_clock.steps(min(SLICE_S, until - now))
            ended, used = seek(STEPS * steps, stack, self._arrays, self._state)
            self.work_clock.spend(used // STEPS / DETERMINISTIC_RATE)
            if ended == PAUSED:
                continue
            self._stack = None
            if ended == FOUND:
                self._found()
                return
            if ended == EXHAUSTED:
                self._moves += 1
                self._limit()

    def _begin(self) -> SearchStack:
        shared = self.shared
        if not self._moves:
            self._arrays = make_arrays(shared.problem, strict=shared.strict)
            self._state = make_state(self._arrays, shared.problem.tiers, seed=0)
        enter(shared.problem.home, self.tier, self._frozen(), self._arrays, self._state)
        homes = shared.problem.home[shared.problem.home != NOWHERE]
        longest = max(len(shared.problem.room), int(np.bincount(homes, minlength=1).max()))
        self._stack = make_stack(self._waiting, self._moves, self._frozen(), longest)
        return self._stack

    def _frozen(self) -> Flags:
        return self.shared.frozen(self.tier)

    def _found(self) -> None:
        shared = self.shared
        problem = shared.problem
        below = problem.tier[problem.kind] > self.tier
        nodes = self._state.items[:, NODE]
        shared.offer(np.where(below, problem.home, nodes), self.repairer)
        self._limit()

    def _limit(self) -> None:
        """Note the fewest moves that place all pods; such a plan displaces none."""
        above = self.shared.value[: self.tier]
        below = (ANYTHING,) * (self.shared.problem.tiers - self.tier - 1)
        least = (*above, ANYTHING._replace(placed=self._whole), *below)
        self.shared.add_bound(ConditionalBound(self.tier, Phase.DISRUPT, least, 2 * self._moves, EVERY_MOVE_TRIED))
