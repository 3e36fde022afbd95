"""Algorithm 1's loop over the tiers, for any formulation and any solver.

Under the `STRICT` policy the running pods of a tier are kept first; a phase whose bound
is reached already is not solved; what a phase reached is held in all that follow.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from stowage_optimizer.assignments.incumbent import Incumbent
from stowage_optimizer.bounds.phase import Phase
from stowage_optimizer.bounds.proofs import Proof, TierBounds
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.tie import Terms, Values
from stowage_optimizer.model.time_budget import HALF, SHORTEST_SOLVE_S, TimeBudget, TimeSplit
from stowage_optimizer.programs.counts import CountFormulation
from stowage_optimizer.programs.program import STAY, Formulation, LinearProgram, running_items
from stowage_optimizer.programs.solver import Offer, Outcome, SolverContradictionError

Maximise = Callable[[LinearProgram, Terms, Values, TimeBudget, Offer], Outcome]
"""A solver, as `LinearProgram.maximise` is one."""

BUILT_PER_S = 50_000
"""Variables written down in a second, at the least. A program that would take longer
than what is left of the time is not begun."""

MOST_VARIABLES = 2_000_000
"""Larger programs are not begun, however much time there is: memory is limited too."""


@dataclass(slots=True)
class TierLoop:
    """One run of the loop, over one integer program for each tier and those above.

    Parameters
    ----------
    bounds
        Bounds of each tier, which exact solvers tighten.
    flaw
        Why the solver's bounds and refusals are no proofs; empty if they are.
    proof
        How bounds are proved that are tightened.
    formulate, solve
        How the programs are written down and solved; a subclass may do without.
    """

    packing: Packing
    budget: TimeBudget
    incumbent: Incumbent
    bounds: list[TierBounds]
    flaw: str
    proof: Proof
    formulate: type[Formulation] = CountFormulation
    solve: Maximise = LinearProgram.maximise
    complete: bool = field(init=False, default=True)
    _split: TimeSplit = field(init=False)
    _held: list[tuple[Phase, int, int, int]] = field(init=False, default_factory=list)
    _formulation: Formulation | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        alpha, tiers = self.budget.options.alpha, len(self.packing.tiers)
        self._split = TimeSplit(self.budget.left_s(), alpha, tiers)

    def run(self) -> None:
        """Go through the tiers from the highest (Algorithm 1, line 2).

        Afterwards ``complete`` means that the solver believes every phase solved.
        """
        strict = self.budget.policy is Policy.STRICT
        for tier, bounds in enumerate(self.bounds):
            self.begin(tier)
            if strict:
                bounds.kept = self._phase(Phase.KEEP, tier, bounds.kept, HALF / 2)
            share = HALF / 2 if strict else HALF
            placed = self._phase(Phase.PLACE, tier, bounds.placed, share)
            if placed < bounds.placed:
                bounds.placed, bounds.place = placed, self.proof
            most_stable = self._most_stable(tier)
            stability = self._phase(Phase.DISRUPT, tier, most_stable, HALF)
            if most_stable - stability > bounds.disruption:
                bounds.disrupt = self.proof
            bounds.disruption = most_stable - stability

    def begin(self, tier: int) -> None:
        """Go on to ``tier``; its program is written down when it is needed."""
        del tier
        self._formulation = None

    def maximise(self, phase: Phase, tier: int, amount: float) -> Outcome | None:
        """Maximise ``phase`` in ``amount`` seconds or steps; None if that is too few.

        Each better solution is offered to the incumbent.
        """
        if not self._may_build(tier):
            return None
        began = self.budget.clock()
        formulation = self._built(tier)
        if not self.budget.deterministic:
            amount -= self.budget.clock() - began
        metric, start = formulation.metric(phase, tier), formulation.values(self.incumbent.assignment)
        budget, offer = self.budget.for_solver(amount), self._offering(formulation)
        try:
            return self.solve(formulation.program, metric, start, budget, offer)
        except SolverContradictionError:
            if not self.flaw:
                raise
            return Outcome(None, 0.0)

    def hold(self, phase: Phase, tier: int, reached: int, bound: int) -> None:
        """Hold what a phase ``reached`` (Algorithm 1, lines 8, 10, 16 and 18), here and in all programs after."""
        self._held.append((phase, tier, reached, bound))
        if self._formulation is not None:
            _add(self._formulation, self._held[-1])

    def _phase(self, phase: Phase, tier: int, bound: int, share: float) -> int:
        """Maximise, hold what is reached, return the proved bound."""
        believed = bound
        if self._reached(phase, tier) < bound:
            believed = self._solve(phase, tier, bound, share)
        else:
            self._split.spent(0, share)
        reached = self._reached(phase, tier)
        self.complete = self.complete and reached >= believed
        proved = max(reached, bound if self.flaw else believed)
        self.hold(phase, tier, reached, proved)
        return proved

    def _solve(self, phase: Phase, tier: int, bound: int, share: float) -> int:
        amount = self._split.phase(share)
        if not self.budget.deterministic:
            amount = min(amount, self.budget.left_s())
        if amount < SHORTEST_SOLVE_S:
            return bound
        outcome = self.maximise(phase, tier, amount)
        if outcome is None:
            return bound
        self._split.spent(outcome.spent, share)
        return bound if outcome.bound is None else min(bound, outcome.bound)

    def _reached(self, phase: Phase, tier: int) -> int:
        scored = self.incumbent.score[tier]
        if phase is Phase.KEEP:
            return scored.kept
        if phase is Phase.PLACE:
            return scored.placed
        return self._most_stable(tier) + scored.stability

    def _most_stable(self, tier: int) -> int:
        return STAY * running_items(self.packing, tier)

    def _may_build(self, tier: int) -> bool:
        if self._formulation is not None:
            return True
        size = self.formulate.variables(self.packing, tier + 1)
        quick = self.budget.deterministic or size <= self.budget.left_s() * BUILT_PER_S
        return quick and size <= MOST_VARIABLES

    def _built(self, tier: int) -> Formulation:
        if self._formulation is None:
            self._formulation = self.formulate(self.packing, tier + 1)
            for held in self._held:
                _add(self._formulation, held)
        return self._formulation

    def _offering(self, formulation: Formulation) -> Callable[[Values], None]:
        def offer(values: Values) -> None:
            self.incumbent.offer(formulation.read(values, self.incumbent.assignment))

        return offer


def _add(formulation: Formulation, held: tuple[Phase, int, int, int]) -> None:
    phase, tier, reached, bound = held
    formulation.program.between(formulation.metric(phase, tier), reached, bound)
