"""The best assignment so far, and publishing each better one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from stowage_optimizer.model.objective import Score, score
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.plan import Plan
from stowage_optimizer.strategies.bounds import TierBounds
from stowage_optimizer.strategies.planning import PlanWriter
from stowage_optimizer.strategies.relation_repair import make_whole


@dataclass(slots=True)
class Incumbent:
    """The best assignment known; the current placement to begin with.

    So an answer is never worse than what is there, and every phase has something
    feasible to hint at and to fall back on.
    """

    packing: Packing
    bounds: Sequence[TierBounds]
    writer: PlanWriter
    publish: Callable[[Plan], None]
    assignment: Assignment = field(init=False)
    score: Score = field(init=False)

    def __post_init__(self) -> None:
        self.assignment = self.packing.current
        self.score = score(self.packing, self.assignment, self.writer.policy)

    def offer(self, candidate: Assignment) -> None:
        """Take ``candidate``, made whole, if it is better than the best so far."""
        whole = make_whole(self.packing, candidate, self.writer.policy)
        reached = score(self.packing, whole, self.writer.policy)
        if reached > self.score:
            self.assignment, self.score = whole, reached
            self.publish(self.plan())

    def plan(self) -> Plan:
        """Return the best assignment as a plan; empty unless more pods get a node."""
        return self.writer.write(self.assignment, self.bounds)
