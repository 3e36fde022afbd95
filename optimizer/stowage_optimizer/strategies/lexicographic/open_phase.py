"""A phase that is not settled yet, and what attempts to settle it work with."""

from dataclasses import dataclass, field

import numpy as np

from stowage_optimizer.bounds.neighbourhoods import Neighbourhoods
from stowage_optimizer.bounds.phase import Phase, Question
from stowage_optimizer.bounds.proofs import Proof
from stowage_optimizer.bounds.tier_program import TierProgram
from stowage_optimizer.model.objective import Score
from stowage_optimizer.model.options import Clock
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.problem import Indices
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.search.repair import Repairer
from stowage_optimizer.strategies.lexicographic.move_search import MoveSearch
from stowage_optimizer.strategies.lexicographic.shared_state import (
    ANYTHING,
    ConditionalBound,
    SharedState,
    WorkClock,
    reaches,
)


@dataclass(frozen=True, slots=True)
class OpenPhase:
    """A phase of ``tier``, and what all tiers have reached.

    Parameters
    ----------
    tiers_open, phases_open
        How many tiers above, and phases before it in its own tier, are still open. What
        they reach may change, and with it the premises.
    """

    tier: int
    phase: Phase
    value: Score
    tiers_open: int = 0
    phases_open: int = 0

    @property
    def premises(self) -> tuple[object, ...]:
        """Everything that the answer depends on."""
        return (self.tier, self.phase, self.least())

    def least(self, value: Score | None = None) -> Score:
        """Return what the assignments in question have at least.

        Parameters
        ----------
        value
            What all tiers have reached, where not that of the phase.
        """
        value = self.value if value is None else value
        kept, placed, _ = value[self.tier]
        own = ANYTHING
        if self.phase is not Phase.KEEP:
            own = own._replace(kept=kept)
        if self.phase is Phase.DISRUPT:
            own = own._replace(placed=placed)
        below = (ANYTHING,) * (len(value) - self.tier - 1)
        return (*value[: self.tier], own, *below)

    @property
    def presumes_nothing(self) -> bool:
        """Whether the answer holds whatever the tiers above reach."""
        return self.value[0] == ANYTHING

    def reached(self, shared: SharedState) -> int:
        """Return what is reached, in the phase's own numbers."""
        kept, placed, stability = shared.value[self.tier]
        return (kept, placed, -stability)[self.phase.value]

    def better(self, shared: SharedState) -> int:
        """Return the least that is better than what is reached."""
        reached = self.reached(shared)
        return reached - 1 if self.phase is Phase.DISRUPT else reached + 1

    def bound(self, shared: SharedState) -> int:
        """Return what is proved, in the phase's own numbers."""
        bounds = shared.bounds[self.tier]
        return (bounds.kept, bounds.placed, bounds.disruption)[self.phase.value]

    def gap(self, shared: SharedState) -> int:
        """Return how far what is reached is from what is proved; 0 if settled."""
        return abs(self.bound(shared) - self.reached(shared))

    def still_open(self, shared: SharedState) -> bool:
        """Return whether an answer would still be useful."""
        if not self.gap(shared):
            return False
        if self.tiers_open or self.phases_open:
            return reaches(shared.value, self.least())
        return self.phase is not Phase.DISRUPT or (self.least(shared.value) == self.least())


NEVER_S = 10_000.0
"""Later than any solve ends."""


@dataclass(frozen=True, slots=True)
class AttemptContext:
    """What all attempts of one solve work with, and where their results go.

    Parameters
    ----------
    packing
        The problem that bounds are asked about: with devices, one in which they are amounts or do not matter, so that
        whatever can be carried out is feasible.
    searches
        Exact searches by tier, which several phases continue.
    programs
        By tier, what the tiers above had reached, and the program over patterns.
    chosen
        By tier, the choice among its patterns.
    limited
        Tiers and phases that kinds of nodes were asked about, and what the tiers above
        had reached: what a tier itself reaches makes little difference to these.
    """

    shared: SharedState
    packing: Packing
    budget: TimeBudget
    work_clock: WorkClock
    repairer: Repairer
    searches: dict[int, MoveSearch] = field(default_factory=dict)
    programs: dict[int, tuple[Score, TierProgram]] = field(default_factory=dict)
    chosen: dict[int, Neighbourhoods] = field(default_factory=dict)
    limited: set[tuple[int, Phase, Score]] = field(default_factory=set)

    def question(self, phase: OpenPhase) -> Question:
        """Return what the bounds are asked of ``phase``."""
        return Question(self.packing.problem, phase.tier, phase.phase, phase.value)

    def program(self, phase: OpenPhase) -> TierProgram:
        """Return the program of the tier, which its phases share."""
        above = phase.value[: phase.tier]
        known, program = self.programs.get(phase.tier, (None, None))
        if program is None or known != above:
            program = TierProgram(self.question(phase), program)
            self.programs[phase.tier] = (above, program)
        return program

    def has_ready_program(self, phase: OpenPhase) -> bool:
        """Return whether the tier's program knows the patterns that its phases need."""
        known, program = self.programs.get(phase.tier, (None, None))
        if program is None or known != phase.value[: phase.tier]:
            return False
        return program.usable and program.ready

    def neighbourhoods(self, phase: OpenPhase) -> Neighbourhoods:
        """Return the choice among the patterns of the tier's program."""
        program, known = self.program(phase), self.chosen.get(phase.tier)
        if known is None or known.program is not program:
            known = Neighbourhoods(program, self.budget.options.seed)
            self.chosen[phase.tier] = known
        return known

    def clock(self, phase: OpenPhase, end: float) -> Clock:
        """Return a clock that is past ``end`` once the answer is not needed."""

        def now() -> float:
            idle = self.shared.closed or not phase.still_open(self.shared)
            return end + 1.0 if idle else self.work_clock.now()

        return now

    def deadline(self, end: float) -> float:
        """Return ``end``, or a time that does not come in a deterministic solve.

        There time must not matter, not even to solvers that measure it themselves.
        """
        return self.work_clock.now() + NEVER_S if self.work_clock.deterministic else end

    def add_bound(self, phase: OpenPhase, bound: int, proof: Proof, value: Score | None = None) -> None:
        """Note that ``phase`` cannot be better than ``bound``.

        Parameters
        ----------
        value
            What the proof presumes, where that is not what the phase does.
        """
        least = phase.least(value)
        self.shared.add_bound(ConditionalBound(phase.tier, phase.phase, least, bound, proof))

    def offer(self, phase: OpenPhase, nodes: Indices | None) -> bool:
        """Offer what a bound of ``phase`` found; return whether it was better.

        Tiers below stay wanted where they are.
        """
        if nodes is None:
            return False
        problem, now = self.shared.problem, self.shared.assignment
        below = problem.tier[problem.kind] > phase.tier
        return self.shared.offer(np.where(below, now, nodes), self.repairer)
