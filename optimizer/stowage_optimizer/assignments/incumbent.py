"""The best assignment so far, for strategies that improve one."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from stowage_optimizer.assignments.repair import repair
from stowage_optimizer.assignments.solution_writer import SolutionWriter
from stowage_optimizer.bounds.proofs import TierBounds
from stowage_optimizer.model.objective import Score, score
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.solution import Publish, Solution


@dataclass(slots=True)
class Incumbent:
    """The best assignment known; the current placement to begin with.

    So an answer is never worse than what is there, and every phase has something
    feasible to hint at and to fall back on.
    """

    packing: Packing
    bounds: Sequence[TierBounds]
    policy: Policy
    publish: Publish
    assignment: Assignment = field(init=False)
    score: Score = field(init=False)
    _writer: SolutionWriter = field(init=False)

    def __post_init__(self) -> None:
        self.assignment = self.packing.current
        self.score = score(self.packing, self.assignment, self.policy)
        self._writer = SolutionWriter(self.packing, self.policy)

    def offer(self, candidate: Assignment) -> None:
        """Take ``candidate``, repaired, if it is better than the best so far."""
        repaired = repair(self.packing, candidate, self.policy)
        reached = score(self.packing, repaired, self.policy)
        if reached > self.score:
            self.assignment, self.score = repaired, reached
            self.publish(self.solution())

    def solution(self, message: str = "") -> Solution:
        """Return the best assignment with all that is proved by now."""
        return self._writer.write(self.assignment, self.bounds, message)
