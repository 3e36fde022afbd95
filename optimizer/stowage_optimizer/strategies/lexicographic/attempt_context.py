"""A phase that is not settled yet, and what attempts to settle it work with."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stowage_optimizer.bounds.question import Phase, Question
from stowage_optimizer.bounds.tier_program import TierProgram
from stowage_optimizer.model.objective import TierScore
from stowage_optimizer.model.options import Clock
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.search.mending import Mender
from stowage_optimizer.search.problem import Indices, Problem, Value
from stowage_optimizer.strategies.bounds import Proof
from stowage_optimizer.strategies.budget import Budget
from stowage_optimizer.strategies.lexicographic.exact import MoveSearch
from stowage_optimizer.strategies.lexicographic.shared_state import (
    SharedState,
    WorkClock,
)

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


NEVER_S = 10_000.0
"""Later than any solve ends."""


@dataclass(frozen=True, slots=True)
class AttemptContext:
    """What all attempts of one solve work with, and where their results go.

    Parameters
    ----------
    problem
        The shared problem, without room that nothing can use.
    searches
        Exact searches by tier, which several phases continue.
    programs
        By tier, what the tiers above had reached, and the program over patterns.
    """

    shared: SharedState
    packing: Packing
    budget: Budget
    work_clock: WorkClock
    problem: Problem
    mender: Mender
    searches: dict[int, MoveSearch] = field(default_factory=dict)
    programs: dict[int, tuple[Value, TierProgram]] = field(default_factory=dict)

    def question(self, phase: OpenPhase) -> Question:
        """Return what the bounds are asked of ``phase``."""
        return phase.question(self.problem)

    def program(self, phase: OpenPhase) -> TierProgram:
        """Return the program of the tier, which its phases share."""
        above = phase.value[: phase.tier]
        known, program = self.programs.get(phase.tier, (None, None))
        if program is None or known != above:
            program = TierProgram(self.question(phase), program)
            self.programs[phase.tier] = (above, program)
        return program

    def clock(self, phase: OpenPhase, end: float) -> Clock:
        """Return a clock that is past ``end`` once the answer is not needed."""

        def now() -> float:
            idle = self.shared.closed or not phase.still_open(self.shared)
            return end + 1.0 if idle else self.work_clock.now()

        return now

    def deadline(self, end: float) -> float:
        """Return ``end``, or a time that does not come where work is counted.

        There time must not matter, not even to solvers that measure it themselves.
        """
        return self.work_clock.now() + NEVER_S if self.work_clock.counted else end

    def limit(self, phase: OpenPhase, limit: int, proof: Proof) -> None:
        """Note that ``phase`` cannot be better than ``limit``."""
        if phase.phase is Phase.KEEP:
            self.shared.limit_kept(phase.tier, limit)
        elif phase.phase is Phase.PLACE:
            self.shared.limit_placed(phase.tier, limit, proof)
        else:
            self.shared.limit_disruption(phase.tier, limit, phase.placed, proof)

    def offer(self, phase: OpenPhase, nodes: Indices | None) -> None:
        """Offer what a bound of ``phase`` found; tiers below stay where they are."""
        if nodes is None:
            return
        problem = self.shared.problem
        below = problem.tier[problem.kind] > phase.tier
        self.shared.offer(np.where(below, problem.home, nodes), self.mender)
