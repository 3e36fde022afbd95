"""The strategy ``lexicographic``: search and proof side by side, tier by tier.

What is found is published, and time is kept. The caller's thread does no work of its
own. It publishes each better solution and returns the best one when the time is up,
whatever the working threads, one for the search and one for proofs, are doing then.
"""

import math
import os
import threading
from dataclasses import dataclass, field, replace

from stowage_optimizer.assignments.solution_writer import SolutionWriter
from stowage_optimizer.bounds.device_weights import relaxed
from stowage_optimizer.bounds.proofs import trivial_bounds
from stowage_optimizer.model.options import Clock, Policy
from stowage_optimizer.model.packing import Packing, as_assignment
from stowage_optimizer.model.solution import Publish, Solution, TierResult
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.search.repair import Repairer
from stowage_optimizer.strategies.lexicographic.local_search import LocalSearch
from stowage_optimizer.strategies.lexicographic.move_search import MoveSearch
from stowage_optimizer.strategies.lexicographic.prover import Prover
from stowage_optimizer.strategies.lexicographic.shared_state import SharedState, WorkClock

LARGEST_MARGIN = 0.3
"""Largest share of the limit that is kept back."""

WRITING_SHARE = 0.1
"""Largest share of the time that goes into writing plans that are better by little."""

PROOF_INTERVAL_S = 0.25
"""Shortest time between two plans that differ in their proofs only."""

JOIN_S = 0.02
"""Time to join the working threads, once they are asked to stop."""

FOREVER_S = 24 * 3600.0
"""Longer than any solve, and not too long for a clock."""

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


RELAXING_SHARE = 0.25
"""Largest share of the time for finding what devices are worth, before bounds are asked for. Where they are not scarce,
little of it is needed."""


@dataclass(frozen=True, slots=True)
class LexicographicStrategy:
    """Local search, bounds and proofs, tier by tier from the highest."""

    def solve(self, packing: Packing, budget: TimeBudget, publish: Publish) -> Solution:
        """Return the best solution found in time; see `Strategy.solve`."""
        strict = budget.policy is Policy.STRICT
        shared = SharedState(packing.problem, strict, trivial_bounds(packing))
        work = Work(shared, packing, budget)
        # Not a daemon: an interpreter that ends before its solver does would crash it.
        thread = threading.Thread(target=work.run, name="lexicographic")
        thread.start()
        try:
            writer = SolutionWriter(packing, budget.policy)
            publisher = _Publisher(shared, writer, publish, budget.clock)
            publisher.publish()
            deadline = latest = math.inf
            if not budget.deterministic:
                deadline = budget.ends
                latest = deadline - LARGEST_MARGIN * budget.limit_s
            publisher.publish_until(deadline, latest)
        finally:
            shared.close()
        thread.join(JOIN_S)
        if shared.failure is not None:
            raise shared.failure
        return publisher.publish()


@dataclass(slots=True)
class _Publisher:
    """The publisher: sends out each better plan, and the final plan."""

    shared: SharedState
    writer: SolutionWriter
    send: Publish
    clock: Clock
    writing_s: float = 0.0
    _seen: int = field(default=-1)
    _filled: int = field(default=0)
    _tiers: tuple[TierResult, ...] = field(default=())
    _sent: float = field(default=0.0)

    def publish(self) -> Solution:
        """Return the best solution, after publishing it if it is new."""
        began = self.clock()
        self._filled = self.shared.filled
        _, nodes, bounds, version = self.shared.snapshot()
        solution = self.writer.write(as_assignment(nodes), bounds)
        if (version, solution.tiers) != (self._seen, self._tiers):
            self.send(solution)
        self._seen, self._tiers, self._sent = version, solution.tiers, began
        self.writing_s = max(self.writing_s, self.clock() - began)
        return solution

    def last_start(self, deadline: float, latest: float) -> float:
        """Return when the last plan must be begun so that it is there in time.

        Parameters
        ----------
        latest
            The answer is never earlier, however long writing takes.
        """
        return max(latest, deadline - MARGIN_S - self.writing_s)

    def publish_until(self, deadline: float, latest: float) -> None:
        """Publish what is new until the work ends or the last plan is due.

        A better plan goes out as soon as it is known. Better bounds alone go out at
        intervals.
        """
        left = self.last_start(deadline, latest) - self.clock()
        while left > self.writing_s and not self.shared.ended:
            self.shared.await_change(self._seen, min(left, PROOF_INTERVAL_S))
            if self._due() and not self.shared.ended:
                self.publish()
                rest = self.writing_s * (1 / WRITING_SHARE - 1)
                left = self.last_start(deadline, latest) - self.clock()
                # That all pods are placed is published at once.
                self.shared.await_filled(self._filled, min(rest, left))
            left = self.last_start(deadline, latest) - self.clock()
        # Another plan would not be written before the last one is due.
        self.shared.await_end(min(left, FOREVER_S))

    def _due(self) -> bool:
        better = self.shared.version != self._seen
        return better or self.clock() - self._sent >= PROOF_INTERVAL_S


@dataclass(slots=True)
class Work:
    """Everything that is done in one solve."""

    shared: SharedState
    packing: Packing
    budget: TimeBudget
    _deadline: float = field(init=False)
    _relaxed: Packing = field(init=False)

    def __post_init__(self) -> None:
        self._deadline = self.budget.ends - MARGIN_S
        # What holds for pods that find devices everywhere holds for all; `_relax` makes devices amounts instead.
        self._relaxed = self.packing if self.packing.bins is None else replace(self.packing, bins=None)

    def _relax(self) -> Packing:
        """Return the problem that bounds are asked about."""
        if self.packing.bins is not None:
            clock, deadline = self.budget.clock, self.budget.clock() + RELAXING_SHARE * self.budget.left_s()
            if self.budget.deterministic:
                clock, deadline = lambda: 0.0, 1.0
            self._relaxed = relaxed(self.packing, clock, deadline)
        return self._relaxed

    def run(self) -> None:
        """Work until all is proved or time is up, then close the shared state."""
        try:
            self._run()
        except Exception as error:  # the edge of the thread
            self.shared.close(error)
        self.shared.close()

    def _run(self) -> None:
        deterministic, options = self.budget.deterministic, self.budget.options
        work_clock = WorkClock(self.budget.clock, deterministic)
        local_search = LocalSearch(self.shared, work_clock, options.seed, options.limits.max_moves)
        threads = options.workers or len(os.sched_getaffinity(0))
        alone = deterministic or threads == 1
        if alone or self.packing.bins is None:
            local_search.start()
            if self.shared.finished:
                return
        if alone:
            self._take_turns(local_search, work_clock)
            return
        search = threading.Thread(target=self._search, args=(local_search,), name="search")
        search.start()
        Prover(self.shared, self._relax(), self.budget, work_clock).prove(self._deadline)
        search.join()

    def _search(self, local_search: LocalSearch) -> None:
        try:
            if self.packing.bins is not None:
                # With devices the first plan takes long: what they are worth is found meanwhile.
                local_search.start()
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
            Prover(shared, self._relaxed, self.budget, clock, lowest).prove(end)

    def _refute(self, work_clock: WorkClock) -> None:
        """Try every plan with fewer moves, where that is all there is to gain."""
        shared = self.shared
        if shared.finished or shared.closed:
            return
        repairer = Repairer(shared.problem, strict=shared.strict)
        moves = MoveSearch(shared, work_clock, repairer, shared.problem.tiers - 1)
        if moves.all_placed:
            moves.run(self._deadline)

    def _take_turns(self, local_search: LocalSearch, work_clock: WorkClock) -> None:
        began = work_clock.now()
        total = self._deadline - began
        if work_clock.deterministic:
            total = self.budget.limit_s
        prover = Prover(self.shared, self._relax(), self.budget, work_clock)
        for turn in TURNS:
            until = began + turn * total
            local_search.run(work_clock.now() + (until - work_clock.now()) / 2)
            prover.prove(until)
        local_search.run(began + total)
