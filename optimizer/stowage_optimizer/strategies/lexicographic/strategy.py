"""The strategy ``lexicographic``: search and proof side by side, tier by tier.

What is found is published, and time is kept. The caller's thread does no work of its
own. It publishes each better solution and returns the best one when the time is up,
whatever the working threads are doing then.
"""

import math
import threading
from dataclasses import dataclass, field

from stowage_optimizer.assignments.incumbent import SolutionWriter
from stowage_optimizer.bounds.proofs import trivial_bounds
from stowage_optimizer.model.budget import Budget
from stowage_optimizer.model.options import Clock, Policy
from stowage_optimizer.model.packing import Packing, as_assignment
from stowage_optimizer.model.solution import Publish, Solution, TierResult
from stowage_optimizer.strategies.lexicographic.shared_state import SharedState
from stowage_optimizer.strategies.lexicographic.threads import MARGIN_S, Work

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


@dataclass(frozen=True, slots=True)
class LexicographicStrategy:
    """Local search, bounds and proofs, tier by tier from the highest."""

    def solve(self, packing: Packing, budget: Budget, publish: Publish) -> Solution:
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
            if not budget.counted:
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
