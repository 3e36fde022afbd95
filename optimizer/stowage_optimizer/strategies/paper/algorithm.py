"""Algorithm 1: tier by tier, place as many pods as possible, then disrupt few.

Differences from the printed text, each on purpose:

- Tiers are the distinct priorities present, not a range of numbers.
- Line 18 reads ``>=``: with the printed ``<=`` a lower tier may undo what phase 2
  won for a higher one.
- Under the `STRICT` policy phase 1 is split in two. First the number of running pods
  of exactly this priority that keep a node is maximised and fixed, then the number of
  pods placed. A pod that is left unplaced then is so in *every* best answer of the
  tiers above: only strictly higher priority pushes a running pod out. A pending pod
  never takes the place of a running one of its own priority.
- A phase whose limit the incumbent already meets is not solved: the answer is known.
- Where the solver finds nothing in time, the best assignment so far counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ortools.sat.python import cp_model

from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.objective import TierScore
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.solution import Solution
from stowage_optimizer.strategies.bounds import Proof, TierBounds, trivial_bounds
from stowage_optimizer.strategies.budget import (
    HALF,
    SHORTEST_SOLVE_S,
    Budget,
    TimeSplit,
)
from stowage_optimizer.strategies.incumbent import Incumbent
from stowage_optimizer.strategies.paper.model import PaperModel
from stowage_optimizer.strategies.strategy import Publish


@dataclass(frozen=True, slots=True)
class PaperStrategy:
    """The paper's Algorithm 1 (Christensen, Giallorenzo, Mauro)."""

    def solve(self, packing: Packing, budget: Budget, publish: Publish) -> Solution:
        """Return the best solution found in time; see `Strategy.solve`."""
        bounds = trivial_bounds(packing)
        incumbent = Incumbent(packing, bounds, budget.policy, publish)
        publish(incumbent.solution())
        _Run(packing, budget, incumbent, bounds).all_tiers()
        return incumbent.solution()


@dataclass(frozen=True, slots=True)
class _Phase:
    name: str
    metric: cp_model.LinearExpr
    share: float


@dataclass(slots=True)
class _Run:
    """One run of the loop over the tiers."""

    packing: Packing
    budget: Budget
    incumbent: Incumbent
    bounds: list[TierBounds]
    _model: PaperModel = field(init=False)
    _split: TimeSplit = field(init=False)

    def __post_init__(self) -> None:
        self._model = PaperModel(self.packing)
        alpha, tiers = self.budget.options.alpha, len(self.packing.tiers)
        self._split = TimeSplit(self.budget.left_s(), alpha, tiers)

    def all_tiers(self) -> None:
        """Go through the tiers from the highest (Algorithm 1, line 2)."""
        for tier, priority in enumerate(self.packing.tiers):
            self._model.add_tier(priority)
            if self.budget.policy is Policy.STRICT:
                self._keep(tier, priority)
            self._place(tier)
            self._disrupt(tier)

    def _keep(self, tier: int, priority: int) -> None:
        """Phase 1, first half of `STRICT`: keep the running pods of this priority."""
        bounds = self.bounds[tier]
        bounds.kept = self._phase(
            _Phase(f"tier {priority}, keep", self._model.kept(priority), HALF / 2),
            lambda: self._reached(tier).kept,
            bounds.kept,
        )

    def _place(self, tier: int) -> None:
        """Phase 1: place as many pods as possible (lines 5 to 10)."""
        bounds = self.bounds[tier]
        name = f"tier {self.packing.tiers[tier]}, place"
        strict = self.budget.policy is Policy.STRICT
        placed = self._phase(
            _Phase(name, self._model.placed(), HALF / 2 if strict else HALF),
            lambda: self._reached(tier).placed,
            bounds.placed,
        )
        if placed < bounds.placed:
            bounds.placed, bounds.place = placed, Proof(ProofMethod.CP_SAT)

    def _disrupt(self, tier: int) -> None:
        """Phase 2: disrupt as few running pods as possible (lines 12 to 18)."""
        bounds = self.bounds[tier]
        most_stable = 3 * self._model.running()
        limit = self._phase(
            _Phase(
                f"tier {self.packing.tiers[tier]}, disrupt",
                self._model.stability(),
                HALF,
            ),
            lambda: most_stable + self._reached(tier).stability,
            most_stable,
        )
        if most_stable - limit > bounds.disruption:
            bounds.disruption = most_stable - limit
            bounds.disrupt = Proof(ProofMethod.CP_SAT)

    def _phase(self, phase: _Phase, reached: Callable[[], int], limit: int) -> int:
        """Maximise the metric, hold what is reached, return the proved limit."""
        if reached() < limit:
            limit = min(limit, self._solve(phase, limit))
        else:
            self._split.spent(0, phase.share)
        if reached() == limit:
            self._model.cp.add(phase.metric == limit)  # Lines 8 and 16.
        else:
            self._model.cp.add(phase.metric >= reached())  # Lines 10 and 18.
        return limit

    def _solve(self, phase: _Phase, limit: int) -> int:
        amount = self._split.phase(phase.share)
        if not self.budget.counted:
            amount = min(amount, self.budget.left_s())
        if amount < SHORTEST_SOLVE_S:
            return limit
        budget = self.budget.for_solver(amount)
        outcome = self._model.maximise(phase.metric, phase.name, self.incumbent, budget)
        self._split.spent(outcome.spent, phase.share)
        return limit if outcome.bound is None else outcome.bound

    def _reached(self, tier: int) -> TierScore:
        return self.incumbent.score[tier]
