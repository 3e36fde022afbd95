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

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.objective import TierScore
from stowage_optimizer.model.options import Clock, Policy, SolveOptions
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.plan import Plan
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.strategies.bounds import Proof, TierBounds, trivial_bounds
from stowage_optimizer.strategies.incumbent import Incumbent
from stowage_optimizer.strategies.paper import solving
from stowage_optimizer.strategies.paper.model import PaperModel
from stowage_optimizer.strategies.paper.time_split import HALF, TimeSplit
from stowage_optimizer.strategies.planning import PlanWriter
from stowage_optimizer.strategies.strategy import Answer, end_reason_of

SHORTEST_SOLVE_S = 0.001
"""Less than this is no time to solve anything in."""

STEPS_PER_S = 0.25
"""Deterministic steps a second of the time limit. One step took between 0.4 and 1.1 s
(2 busy cores, 8 to 32 nodes), so that the wall-clock kill stays far off."""


@dataclass(frozen=True, slots=True)
class PaperStrategy:
    """The paper's Algorithm 1 (Christensen, Giallorenzo, Mauro)."""

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
        packing = reduce_snapshot(snapshot)
        bounds = trivial_bounds(packing)
        writer = PlanWriter(snapshot, packing, options.policy)
        incumbent = Incumbent(packing, bounds, writer, publish)
        publish(incumbent.plan())
        _Run(packing, options, clock, deadline, incumbent, bounds).all_tiers()
        plan = incumbent.plan()
        return Answer(plan, end_reason_of(plan), packing.refusals)


@dataclass(frozen=True, slots=True)
class _Phase:
    name: str
    metric: cp_model.LinearExpr
    share: float


@dataclass(slots=True)
class _Run:
    """One run of the loop over the tiers."""

    packing: Packing
    options: SolveOptions
    clock: Clock
    deadline: float
    incumbent: Incumbent
    bounds: list[TierBounds]
    _model: PaperModel = field(init=False)
    _split: TimeSplit = field(init=False)

    def __post_init__(self) -> None:
        self._model = PaperModel(self.packing)
        total = self.deadline - self.clock()
        if self.options.deterministic:
            total = self.options.time_limit_s * STEPS_PER_S
        self._split = TimeSplit(total, self.options.alpha, len(self.packing.tiers))

    def all_tiers(self) -> None:
        """Go through the tiers from the highest (Algorithm 1, line 2)."""
        for tier, priority in enumerate(self.packing.tiers):
            self._model.add_tier(priority)
            if self.options.policy is Policy.STRICT:
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
        strict = self.options.policy is Policy.STRICT
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
        budget = self._split.phase(phase.share)
        if not self.options.deterministic:
            budget = min(budget, self.deadline - self.clock())
        if budget < SHORTEST_SOLVE_S:
            return limit
        outcome = solving.maximise(
            phase.metric,
            phase=phase.name,
            model=self._model,
            incumbent=self.incumbent,
            limit=budget,
            options=self.options,
            clock=self.clock,
        )
        self._split.spent(outcome.spent, phase.share)
        return limit if outcome.bound is None else outcome.bound

    def _reached(self, tier: int) -> TierScore:
        return self.incumbent.score[tier]
