"""The local search, tier by tier, in slices of time."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf

import numpy as np

from stowage_optimizer.model.objective import Score
from stowage_optimizer.model.problem import Indices
from stowage_optimizer.search.clearing import clear_room
from stowage_optimizer.search.device_state import SearchBins, make_bins
from stowage_optimizer.search.exchanges import exchange
from stowage_optimizer.search.exploration import PLACING, STABILISING, explore
from stowage_optimizer.search.placement import enter, nothing_frozen
from stowage_optimizer.search.repair import Repairer
from stowage_optimizer.search.search_arrays import SearchArrays, make_arrays
from stowage_optimizer.search.state import IMPROVED, KEPT, NODE, PLACED, STABILITY, STOP, State, make_state
from stowage_optimizer.strategies.lexicographic.shared_state import SharedState, WorkClock

SLICE_S = 0.02
"""Longest time between two looks at the clock and at the bounds."""

FIRST_SLICE_S = 0.002
"""The same at first, when every slice may gain much."""

UPPER_SHARE = 0.5
"""Part of an equal share of the time left that a tier above the last one gets."""

PLACING_SHARE = 0.5
"""Part of a tier's time that goes to its first phase, unless its bound is reached."""

MOST_PLACING_SHARE = 0.9
"""The same while it still places more: that counts for more than less disruption."""

STALE_SHARE = 0.1
"""Part of the time so far without another pod placed that ends the first phase."""

OFFERING_SHARE = 0.1
"""Share of the time that goes into offering what is found."""

MANY_ITEMS = 4096
"""From here on the search begins with a plan that clears room first."""

ATTEMPTS_PER_S = 30_000
"""Pods and nodes that `exchange` tries in a second of a deterministic solve."""

PLACING_HEAT = (0.001, 0.0001)
STABILISING_HEAT = (0.7, 0.02)
"""Temperatures from the first to the last slice, in the units of each phase's gain."""


@dataclass(slots=True)
class LocalSearch:
    """Looks for better assignments in one thread.

    Parameters
    ----------
    most_moves
        What the request limits the plan to. Where pods ask for devices, the search begins with a plan within it.
    """

    shared: SharedState
    work_clock: WorkClock
    seed: int
    most_moves: int | None = None
    _arrays: SearchArrays = field(init=False)
    _state: State = field(init=False)
    _bins: SearchBins | None = field(init=False)
    _repairer: Repairer = field(init=False)
    _exchange: Iterator[int] | None = None
    _exchanged: State = field(init=False)
    _seen: int = 0
    _entered: Score = ()
    _next_offer: float = -inf

    def __post_init__(self) -> None:
        shared, began = self.shared, self.work_clock.now()
        self._arrays = make_arrays(shared.problem, strict=shared.strict)
        self._state = make_state(self._arrays, shared.problem.tiers, self.seed)
        self._bins = make_bins(shared.problem)
        self._repairer = Repairer(shared.problem, strict=shared.strict)
        shared.on_close(self._stop)
        self._offered(began)

    def start(self) -> None:
        """Offer what needs no search: pending pods where there is, or is made, room."""
        shared = self.shared
        # Repairing what is there gives the pods that wait a node, as far as they fit.
        shared.offer(shared.problem.home, self._repairer)
        if shared.finished:
            return
        if self._bins is not None:
            self._begin_exchange()
        elif len(shared.problem.kind) >= MANY_ITEMS:
            cleared = clear_room(shared.assignment, self._arrays, self._state)
            shared.offer(cleared, self._repairer)

    def run(self, until: float) -> None:
        """Search every tier that is not proved yet, from the highest."""
        self._exchange_places(until)
        tiers = self.shared.problem.tiers
        for tier in range(tiers):
            left = until - self.work_clock.now()
            if left <= 0 or self.shared.closed:
                return
            if self.shared.proved(tier):
                continue
            share = left if tier == tiers - 1 else UPPER_SHARE * left / (tiers - tier)
            self._search_tier(tier, self.work_clock.now() + share)

    def _begin_exchange(self) -> None:
        problem, bins = self.shared.problem, make_bins(self.shared.problem)
        if bins is not None:
            self._exchanged = make_state(self._arrays, problem.tiers, self.seed)
            everything = nothing_frozen(self._arrays)
            enter(self.shared.assignment, problem.tiers - 1, everything, self._arrays, self._exchanged, bins)
            self._exchange = exchange(self._arrays, self._exchanged, bins, self.most_moves)

    def _exchange_places(self, until: float) -> None:
        """Go on placing pods on devices by few moves, until there is no more to try."""
        placed = -1
        while self._exchange is not None and not self.shared.ended:
            now = self.work_clock.now()
            if now >= until:
                return
            attempts = next(self._exchange, None)
            self.work_clock.spend((attempts or 0) / ATTEMPTS_PER_S)
            if attempts is None:
                self._exchange = None
            found = int(np.count_nonzero(self._exchanged.items[:, NODE] >= 0))
            if found != placed and (self._exchange is None or self.work_clock.now() >= self._next_offer):
                began, placed = self.work_clock.now(), found
                self.shared.offer(self._exchanged.items[:, NODE].copy(), self._repairer)
                self._offered(began)

    def _search_tier(self, tier: int, until: float) -> None:
        began = self.work_clock.now()
        middle = began + PLACING_SHARE * (until - began)
        self._enter(tier)
        self._phase(tier, PLACING, middle, began + MOST_PLACING_SHARE * (until - began))
        # The phase ends somewhere near its best solution, not on it.
        self._enter(tier)
        self._phase(tier, STABILISING, until, until)

    def _enter(self, tier: int) -> None:
        shared = self.shared
        self._entered, nodes, *_ = shared.snapshot()
        enter(nodes, tier, shared.frozen(tier), self._arrays, self._state, self._bins)
        self._seen = int(self._state.counters[IMPROVED])

    def _overtaken(self, tier: int) -> bool:
        """Return whether a plan is known that is better than anything found here, which is then for nothing."""
        now, best = self.shared.value, self._state.best_value
        if now[:tier] != self._entered[:tier]:
            return True
        return now[tier] > (int(best[KEPT]), int(best[PLACED]), int(best[STABILITY]))

    def _phase(self, tier: int, phase: int, until: float, latest: float) -> None:
        """Search one phase until its goal is reached, ``until``, or ``latest`` while pods are still being placed."""
        hot, cold = PLACING_HEAT if phase == PLACING else STABILISING_HEAT
        began, slice_s = self.work_clock.now(), FIRST_SLICE_S
        placed, gained = self.shared.value[tier][1], began
        self._seen = int(self._state.counters[IMPROVED])
        reached = False
        while (now := self.work_clock.now()) < latest and not (reached or self.shared.closed):
            if now >= until and now - gained > STALE_SHARE * (now - began):
                break
            if self._overtaken(tier):
                self._enter(tier)
            self._set_goal(tier)
            steps = self.work_clock.steps(min(slice_s, latest - now))
            slice_s = min(2 * slice_s, SLICE_S)
            passed = min(1.0, (now - began) / (until - began))
            heat = hot + (cold - hot) * passed
            reached = explore(steps, tier, phase, heat, heat, self._arrays, self._state, self._bins)
            self.work_clock.done(steps, now)
            now = self.work_clock.now()
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
        began, self._seen = self.work_clock.now(), seen
        self.shared.offer(self._candidate(tier), self._repairer)
        self._offered(began)

    def _offered(self, began: float) -> None:
        """Wait with the next offer in proportion to what this one took."""
        # Repairing a large solution takes longer than finding a better one.
        now = self.work_clock.now()
        self._next_offer = now + (now - began) * (1 / OFFERING_SHARE - 1)

    def _candidate(self, tier: int) -> Indices:
        """Return the best solution; tiers below stay wanted where they are."""
        problem = self.shared.problem
        below = problem.tier[problem.kind] > tier
        return np.where(below, self.shared.assignment, self._state.best)

    def _set_goal(self, tier: int) -> None:
        bounds, goal = self.shared.bounds[tier], self._state.goal
        goal[KEPT] = bounds.kept if self.shared.strict else 0
        goal[PLACED] = bounds.placed
        goal[STABILITY] = -bounds.disruption

    def _stop(self) -> None:
        self._state.counters[STOP] = 1
