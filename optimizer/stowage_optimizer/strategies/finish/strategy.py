"""Any strategy, with its plans finished."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from stowage_optimizer.model.objective import Score, score
from stowage_optimizer.model.options import Clock, Objective, SolveOptions
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.plan import GainPoint, Plan, TierResult
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.strategies.consolidate.strategy import Consolidate
from stowage_optimizer.strategies.finish.cheapest import Replicas
from stowage_optimizer.strategies.finish.curve import gain_by_moves
from stowage_optimizer.strategies.finish.owners import owners_of
from stowage_optimizer.strategies.finish.rewriting import rewrite
from stowage_optimizer.strategies.finish.steps import Steps
from stowage_optimizer.strategies.finish.trimming import Trimming
from stowage_optimizer.strategies.planning import PlanWriter
from stowage_optimizer.strategies.reading import assignment_of
from stowage_optimizer.strategies.reduced import reduced
from stowage_optimizer.strategies.strategy import Answer, Strategy, end_reason_of

TRIMMING_SHARE = 0.1
"""Part of the time limit that is kept back where a plan may have to be trimmed."""

MOST_TRIMMING_SHARE = 0.5
"""As above, however large the snapshot."""

TRIMMED_PER_S = 25_000
"""Pods whose plan is trimmed in a second, at the least."""

CURVE_S = 0.02
"""Time after the limit that the curve may still take."""

ENDING_PER_S = 400_000
"""Pods for which a plan is finished and written in a second, at least."""

LARGEST_ENDING_SHARE = 0.1
"""Largest part of the time limit that is kept back for that."""

REWRITTEN_PER_S = 50_000
"""Pods for which a trimmed plan is filled, scored and written in a second, which cannot
be interrupted."""

STEPS_FOUND_PER_S = 50_000
"""Pods whose steps are found in a second, at least. Where there is less time the curve
has its two ends only."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A strategy whose plans keep within the limits and report what moves gain.

    Parameters
    ----------
    inner
        Finds the plans; for the objective `CONSOLIDATE` there is one strategy only.
    """

    inner: Strategy

    def solve(
        self,
        snapshot: Snapshot,
        options: SolveOptions,
        *,
        clock: Clock,
        publish: Callable[[Plan], None],
    ) -> Answer:
        """Return the best plan within the limits; see `Strategy.solve`."""
        if options.objective is Objective.CONSOLIDATE:
            return _consolidated(snapshot, options, clock, publish)
        deadline = clock() + options.time_limit_s
        asked = options
        if not options.deterministic:
            asked = replace(options, time_limit_s=_finding_s(snapshot, options))
        finish = _Finish(
            snapshot,
            options,
            clock,
            deadline,
            found_by=deadline - (options.time_limit_s - asked.time_limit_s),
            publish=publish,
        )
        answer = self.inner.solve(snapshot, asked, clock=clock, publish=finish.take)
        return finish.last(answer)


def _finding_s(snapshot: Snapshot, options: SolveOptions) -> float:
    """Return the seconds of the time limit that are left for finding plans."""
    limit_s = options.time_limit_s
    ending_s = len(snapshot.pods) / ENDING_PER_S
    limit_s -= min(ending_s, LARGEST_ENDING_SHARE * limit_s)
    if options.limits.none:
        return limit_s
    trimming_s = max(TRIMMING_SHARE * limit_s, len(snapshot.pods) / TRIMMED_PER_S)
    return limit_s - min(trimming_s, MOST_TRIMMING_SHARE * limit_s)


def _consolidated(
    snapshot: Snapshot,
    options: SolveOptions,
    clock: Clock,
    publish: Callable[[Plan], None],
) -> Answer:
    replicas = Replicas(snapshot)
    answer = Consolidate().solve(
        snapshot,
        options,
        clock=clock,
        publish=lambda plan: publish(replicas.disrupt_cheapest(plan)),
    )
    return replace(answer, plan=replicas.disrupt_cheapest(answer.plan))


@dataclass(slots=True)
class _Finish:
    """Finishes the plans of one solve.

    Parameters
    ----------
    snapshot, options, clock, publish
        As in `Strategy.solve`.
    deadline, found_by
        When the answer must be there, and when no more plans are looked for.
    """

    snapshot: Snapshot
    options: SolveOptions
    clock: Clock
    deadline: float
    found_by: float
    publish: Callable[[Plan], None]
    _replicas: Replicas = field(init=False)
    _trimming_s: float = field(init=False, default=0.0)
    _best: Plan | None = field(init=False, default=None)
    _value: Score = field(init=False, default=())
    _seen: Assignment = field(init=False, default=())
    _known: tuple[TierResult, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        self._replicas = Replicas(self.snapshot)

    def take(self, plan: Plan) -> None:
        """Publish ``plan``, within the limits, if that is better than the last one."""
        if self.options.limits.none:
            self.publish(self._replicas.disrupt_cheapest(plan))
        elif self._before(self.found_by - self._trimming_s):
            began = self.clock()
            if self._keep(plan, self.found_by):
                self.publish(self._cheapest())
            self._trimming_s = self.clock() - began

    def last(self, answer: Answer) -> Answer:
        """Return ``answer`` with the best plan within the limits, and its curve."""
        plan = answer.plan
        if not self.options.limits.none:
            self._keep(plan, self.deadline)
            plan = self._best or plan
        plan = replace(plan, gain_by_moves=self._curve(plan))
        plan = self._replicas.disrupt_cheapest(plan)
        return replace(answer, plan=plan, end_reason=end_reason_of(plan))

    def _keep(self, plan: Plan, until: float) -> bool:
        """Trim ``plan`` and keep it if it is the best so far."""
        packing = reduced(self.snapshot)
        assignment = assignment_of(packing, plan)
        if assignment == self._seen and plan.tiers == self._known:
            return False
        self._seen, self._known = assignment, plan.tiers
        trimming = self._trimming(packing, until)
        if not trimming.keeps(assignment):
            writer = PlanWriter(self.snapshot, packing, self.options.policy)
            trimmed = trimming.trim(assignment)
            plan = rewrite(writer, plan, assignment, trimmed)
            assignment = trimmed
        value = score(packing, assignment, self.options.policy)
        better = self._best is None or value > self._value
        proved = value == self._value and plan.optimal
        if better or proved:
            self._best, self._value = plan, value
        return better

    def _cheapest(self) -> Plan:
        best = self._best or Plan(self.snapshot.id)
        return self._replicas.disrupt_cheapest(best)

    def _trimming(self, packing: Packing, until: float) -> Trimming:
        rewriting_s = len(self.snapshot.pods) / REWRITTEN_PER_S
        return Trimming(
            packing,
            self.options.policy,
            self.options.limits,
            owners_of(self.snapshot, packing),
            lambda: not self._before(until - rewriting_s),
        )

    def _curve(self, plan: Plan) -> tuple[GainPoint, ...]:
        if not plan.moves:
            return ()
        left_s = self.deadline + CURVE_S - self.clock()
        hurry = len(self.snapshot.pods) > left_s * STEPS_FOUND_PER_S
        if hurry and not self.options.deterministic:
            return gain_by_moves(plan, ())
        packing = reduced(self.snapshot)
        if packing.relations is not None:
            # A part of the plan need not keep what pods demand of each other.
            return gain_by_moves(plan, ())
        wanted = assignment_of(packing, plan)
        return gain_by_moves(
            plan, Steps(packing, wanted, stop=self._too_late_for_the_curve)
        )

    def _too_late_for_the_curve(self) -> bool:
        return not self._before(self.deadline + CURVE_S)

    def _before(self, moment: float) -> bool:
        """Return whether ``moment`` is still to come, which steps do not depend on."""
        return self.options.deterministic or self.clock() < moment
