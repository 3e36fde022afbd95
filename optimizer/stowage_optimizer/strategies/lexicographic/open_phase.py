"""A phase of a tier that is not settled yet."""

from __future__ import annotations

from dataclasses import dataclass

from stowage_optimizer.bounds.question import Phase, Question
from stowage_optimizer.model.objective import TierScore
from stowage_optimizer.search.problem import Problem
from stowage_optimizer.search.scoring import Value
from stowage_optimizer.strategies.lexicographic.shared_state import SharedState

ANYTHING = (0, 0, -(2**40))
"""What every assignment reaches in a tier."""


@dataclass(frozen=True, slots=True)
class OpenPhase:
    """A phase of ``tier``, and what all tiers have reached."""

    tier: int
    phase: Phase
    value: Value

    def question(self, problem: Problem) -> Question:
        """Return what the bounds are asked."""
        reached = [TierScore(*scores) for scores in self.value]
        return Question(problem, self.tier, self.phase, reached)

    @property
    def premises(self) -> tuple[object, ...]:
        """Everything that the answer depends on."""
        earlier = self.value[self.tier][: self.phase.value]
        return (self.tier, self.phase, self.value[: self.tier], earlier)

    @property
    def presumes_nothing(self) -> bool:
        """Whether the answer holds whatever the tiers above reach."""
        return self.value[0] == ANYTHING

    @property
    def placed(self) -> int:
        """What the tier has placed."""
        return self.value[self.tier][1]

    def reached(self, shared: SharedState) -> int:
        """Return what is reached, in the phase's own numbers."""
        kept, placed, stability = shared.value[self.tier]
        return (kept, placed, -stability)[self.phase.value]

    def better(self, shared: SharedState) -> int:
        """Return the least that is better than what is reached."""
        reached = self.reached(shared)
        return reached - 1 if self.phase is Phase.DISRUPT else reached + 1

    def limit(self, shared: SharedState) -> int:
        """Return what is proved, in the phase's own numbers."""
        bounds = shared.bounds[self.tier]
        return (bounds.kept, bounds.placed, bounds.disruption)[self.phase.value]

    def gap(self, shared: SharedState) -> int:
        """Return how far what is reached is from what is proved; 0 if settled."""
        return abs(self.limit(shared) - self.reached(shared))

    def still_open(self, shared: SharedState) -> bool:
        """Return whether an answer would still be useful."""
        if not self.gap(shared):
            return False
        if self.phase is not Phase.DISRUPT:
            return True
        return OpenPhase(self.tier, self.phase, shared.value).premises == self.premises
