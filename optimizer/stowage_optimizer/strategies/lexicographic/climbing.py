"""The local search, tier by tier, in slices between which the world is looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import numpy as np

from stowage_optimizer.search.clearing import clear_room
from stowage_optimizer.search.exploration import CALMING, PLACING, explore
from stowage_optimizer.search.mending import Mender
from stowage_optimizer.search.problem import Indices
from stowage_optimizer.search.seating import enter
from stowage_optimizer.search.state import (
    CALM,
    IMPROVED,
    KEPT,
    PLACED,
    STOP,
    State,
    make_state,
)
from stowage_optimizer.search.terrain import Terrain, make_terrain
from stowage_optimizer.strategies.lexicographic.board import Board
from stowage_optimizer.strategies.lexicographic.pace import Pace

SLICE_S = 0.02
"""Longest time between two looks at the clock and at the bounds."""

FIRST_SLICE_S = 0.002
"""The same at first, when every slice may bring much."""

UPPER_SHARE = 0.5
"""Part of an equal share of the time left that a tier above the last one gets."""

PLACING_SHARE = 0.5
"""Part of a tier's time that goes to its first phase, unless its limit is reached."""

MOST_PLACING_SHARE = 0.9
"""The same while it still places more: that counts for more than any quiet."""

STALE_SHARE = 0.1
"""Part of the time so far without another pod placed that ends the first phase."""

OFFERING_SHARE = 0.1
"""Share of the time that goes into offering what is found."""

MANY_ITEMS = 4096
"""From here on the search begins with a plan that others have made way for."""

PLACING_HEAT = (0.001, 0.0001)
CALMING_HEAT = (0.7, 0.02)
"""Temperatures from the first to the last slice, in the units of each phase's gain."""


@dataclass(slots=True)
class Climber:
    """Looks for better assignments in one thread.

    Parameters
    ----------
    board
        Where bounds are read and what is found is offered.
    pace
        This thread's time.
    seed
        Seed of every random choice.
    """

    board: Board
    pace: Pace
    seed: int
    _terrain: Terrain = field(init=False)
    _state: State = field(init=False)
    _mender: Mender = field(init=False)
    _seen: int = 0
    _next_offer: float = -inf

    def __post_init__(self) -> None:
        board, began = self.board, self.pace.now()
        self._terrain = make_terrain(board.problem, strict=board.strict)
        self._state = make_state(self._terrain, board.problem.tiers, self.seed)
        self._mender = Mender(board.problem, strict=board.strict)
        board.on_close(self._stop)
        self._offered(began)

    def start(self) -> None:
        """Offer what needs no search: pending pods where there is, or is made, room."""
        board = self.board
        board.offer(board.problem.home, self._mender)
        if len(board.problem.kind) >= MANY_ITEMS and not board.finished:
            cleared = clear_room(board.assignment, self._terrain, self._state)
            board.offer(cleared, self._mender)

    def climb(self, until: float) -> None:
        """Search every tier that is not proved yet, from the highest."""
        tiers = self.board.problem.tiers
        for tier in range(tiers):
            left = until - self.pace.now()
            if left <= 0 or self.board.closed:
                return
            if self.board.proved(tier):
                continue
            share = left if tier == tiers - 1 else UPPER_SHARE * left / (tiers - tier)
            self._climb_tier(tier, self.pace.now() + share)

    def _climb_tier(self, tier: int, until: float) -> None:
        began = self.pace.now()
        middle = began + PLACING_SHARE * (until - began)
        self._enter(tier)
        self._phase(tier, PLACING, middle, began + MOST_PLACING_SHARE * (until - began))
        # The phase ends somewhere near its best solution, not on it.
        self._enter(tier)
        self._phase(tier, CALMING, until, until)

    def _enter(self, tier: int) -> None:
        board = self.board
        enter(board.assignment, tier, board.frozen(tier), self._terrain, self._state)

    def _phase(self, tier: int, phase: int, until: float, latest: float) -> None:
        """Search one phase until its goal is reached.

        It ends at ``until``, or at ``latest`` while pods are still being placed.
        """
        hot, cold = PLACING_HEAT if phase == PLACING else CALMING_HEAT
        began, slice_s = self.pace.now(), FIRST_SLICE_S
        placed, gained = self.board.value[tier][1], began
        self._seen = int(self._state.counters[IMPROVED])
        reached = False
        while (now := self.pace.now()) < latest and not (reached or self.board.closed):
            if now >= until and now - gained > STALE_SHARE * (now - began):
                break
            self._set_goal(tier)
            steps = self.pace.steps(min(slice_s, latest - now))
            slice_s = min(2 * slice_s, SLICE_S)
            passed = min(1.0, (now - began) / (until - began))
            heat = hot + (cold - hot) * passed
            reached = explore(
                steps, tier, phase, heat, heat, self._terrain, self._state
            )
            self.pace.done(steps, now)
            now = self.pace.now()
            if now >= self._next_offer:
                self._offer(tier)
            if self._state.best_value[PLACED] > placed:
                placed, gained = int(self._state.best_value[PLACED]), now
        self._offer(tier)

    def _offer(self, tier: int) -> None:
        """Offer the best solution if it is new."""
        seen = int(self._state.counters[IMPROVED])
        if seen == self._seen:
            return
        began, self._seen = self.pace.now(), seen
        self.board.offer(self._candidate(tier), self._mender)
        self._offered(began)

    def _offered(self, began: float) -> None:
        """Wait with the next offer in proportion to what this one took.

        Making a large solution whole takes longer than finding a better one.
        """
        now = self.pace.now()
        self._next_offer = now + (now - began) * (1 / OFFERING_SHARE - 1)

    def _candidate(self, tier: int) -> Indices:
        """Return the best solution; tiers below stay wanted where they are."""
        problem = self.board.problem
        below = problem.tier[problem.kind] > tier
        return np.where(below, self.board.assignment, self._state.best)

    def _set_goal(self, tier: int) -> None:
        bounds, goal = self.board.bounds[tier], self._state.goal
        goal[KEPT] = bounds.kept if self.board.strict else 0
        goal[PLACED] = bounds.placed
        goal[CALM] = -bounds.disturbed

    def _stop(self) -> None:
        self._state.counters[STOP] = 1
