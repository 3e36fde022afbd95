"""The working threads: search in one, proofs in another, or one after the other."""

import os
import threading
from dataclasses import dataclass, field

from stowage_optimizer.model.budget import Budget
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.search.mending import Mender
from stowage_optimizer.strategies.lexicographic.local_search import LocalSearch
from stowage_optimizer.strategies.lexicographic.move_search import MoveSearch
from stowage_optimizer.strategies.lexicographic.prover import Prover
from stowage_optimizer.strategies.lexicographic.shared_state import SharedState, WorkClock

MARGIN_S = 0.01
"""Kept back from the limit, besides the time that writing a solution takes."""

FIRST_SHARE = 0.2
"""Share of the time after which the search has found nearly all that it will, if it has
found room for all pods."""

LOWEST = (0.4, 0.9)
"""Shares of the time between which the thread of the search bounds the lowest tier."""

LEAST_S = 10.0
"""Less time is too short for that in a fleet of thousands of pods."""

TURNS = (0.02, 0.1, 0.4, 1.0)
"""Shares of the time after which search and proof have each had another turn, where
there is one thread: most is settled early, and the rest needs long stretches."""


@dataclass(slots=True)
class Work:
    """Everything that is done in one solve."""

    shared: SharedState
    packing: Packing
    budget: Budget
    _deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self._deadline = self.budget.ends - MARGIN_S

    def run(self) -> None:
        """Work until all is proved or time is up, then close the shared state."""
        try:
            self._run()
        except Exception as error:  # the edge of the thread
            self.shared.close(error)
        self.shared.close()

    def _run(self) -> None:
        counted, options = self.budget.counted, self.budget.options
        work_clock = WorkClock(self.budget.clock, counted)
        local_search = LocalSearch(self.shared, work_clock, options.seed)
        local_search.start()
        if self.shared.finished:
            return
        threads = options.workers or len(os.sched_getaffinity(0))
        if counted or threads == 1:
            self._take_turns(local_search, work_clock)
            return
        search = threading.Thread(target=self._search, args=(local_search,), name="search")
        search.start()
        Prover(self.shared, self.packing, self.budget, work_clock).prove(self._deadline)
        search.join()

    def _search(self, local_search: LocalSearch) -> None:
        try:
            began = local_search.work_clock.now()
            local_search.run(began + FIRST_SHARE * (self._deadline - began))
            self._refute(local_search.work_clock)
            self._prove_lowest(local_search, began)
            local_search.run(self._deadline)
        except Exception as error:  # the edge of the thread
            self.shared.close(error)

    def _prove_lowest(self, local_search: LocalSearch, began: float) -> None:
        """Bound the lowest tier, of most of a fleet's pods, while the prover is at work on those above it."""
        shared, lowest = self.shared, self.shared.problem.tiers - 1
        start, end = (began + share * (self._deadline - began) for share in LOWEST)
        # In a short time it gets no bound, and the search finds more.
        if not lowest or end - start < LEAST_S:
            return
        local_search.run(start)
        if not shared.proved(lowest):
            clock = local_search.work_clock
            Prover(shared, self.packing, self.budget, clock, lowest).prove(end)

    def _refute(self, work_clock: WorkClock) -> None:
        """Try every plan with fewer moves, where that is all there is to gain."""
        shared = self.shared
        if shared.finished or shared.closed:
            return
        mender = Mender(shared.problem, strict=shared.strict)
        moves = MoveSearch(shared, work_clock, mender, shared.problem.tiers - 1)
        if moves.all_placed:
            moves.run(self._deadline)

    def _take_turns(self, local_search: LocalSearch, work_clock: WorkClock) -> None:
        began = work_clock.now()
        total = self._deadline - began
        if work_clock.counted:
            total = self.budget.limit_s
        prover = Prover(self.shared, self.packing, self.budget, work_clock)
        for turn in TURNS:
            until = began + turn * total
            local_search.run(work_clock.now() + (until - work_clock.now()) / 2)
            prover.prove(until)
        local_search.run(began + total)
