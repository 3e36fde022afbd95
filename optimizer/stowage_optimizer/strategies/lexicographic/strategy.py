"""The strategy from outside: what is found is published, and time is kept.

The caller's thread does no work of its own. It publishes each better plan and returns
the best one when the time is up, whatever the working threads are doing then.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from stowage_optimizer.model.options import Clock, Policy, SolveOptions
from stowage_optimizer.model.plan import Plan, TierResult
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.search.problem import make_problem
from stowage_optimizer.strategies.bounds import trivial_bounds
from stowage_optimizer.strategies.lexicographic.shared_state import (
    SharedState,
    as_assignment,
)
from stowage_optimizer.strategies.lexicographic.work import Work
from stowage_optimizer.strategies.planning import PlanWriter
from stowage_optimizer.strategies.reduced import reduced
from stowage_optimizer.strategies.strategy import Answer, end_reason_of

MARGIN_S = 0.01
"""Kept back from the limit, besides the time that writing a plan takes."""

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

    def solve(
        self,
        snapshot: Snapshot,
        options: SolveOptions,
        *,
        clock: Clock,
        publish: Callable[[Plan], None],
    ) -> Answer:
        """Return the best plan found in time; see `Strategy.solve`."""
        deadline = clock() + options.time_limit_s
        packing = reduced(snapshot)
        strict = options.policy is Policy.STRICT
        shared = SharedState(make_problem(packing), strict, trivial_bounds(packing))
        work = Work(shared, packing, options, clock, deadline - MARGIN_S)
        # Not a daemon: an interpreter that ends before its solver does would crash it.
        thread = threading.Thread(target=work.run, name="lexicographic")
        thread.start()
        try:
            writer = PlanWriter(snapshot, packing, options.policy)
            publisher = _Publisher(shared, writer, publish, clock)
            publisher.publish()
            latest = deadline - LARGEST_MARGIN * options.time_limit_s
            if options.deterministic:
                deadline = latest = math.inf
            publisher.publish_until(deadline, latest)
        finally:
            shared.close()
        thread.join(JOIN_S)
        if shared.failure is not None:
            raise shared.failure
        plan = publisher.publish_final()
        return Answer(plan, end_reason_of(plan), packing.refusals)


@dataclass(slots=True)
class _Publisher:
    """The publisher: sends out each better plan, and the final plan."""

    shared: SharedState
    writer: PlanWriter
    send: Callable[[Plan], None]
    clock: Clock
    writing_s: float = 0.0
    _seen: int = field(default=-1)
    _filled: int = field(default=0)
    _tiers: tuple[TierResult, ...] = field(default=())
    _sent: float = field(default=0.0)

    def publish(self) -> Plan:
        """Write the best assignment as a plan, and publish it if it is new."""
        began = self.clock()
        self._filled = self.shared.filled
        version, nodes, bounds = self.shared.read()
        plan = self.writer.write(as_assignment(nodes), bounds)
        if (version, plan.tiers) != (self._seen, self._tiers):
            self.send(plan)
        self._seen, self._tiers, self._sent = version, plan.tiers, began
        self.writing_s = max(self.writing_s, self.clock() - began)
        return plan

    def last_start(self, deadline: float, latest: float) -> float:
        """Return when the last plan must be begun so that it is there in time.

        Parameters
        ----------
        deadline
            When it must be there.
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

    def publish_final(self) -> Plan:
        """Return the best plan, after publishing it if it is new."""
        return self.publish()
