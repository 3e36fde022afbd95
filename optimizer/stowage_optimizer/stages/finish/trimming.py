"""Solutions within the limits on disruption, and what may still be claimed of them."""

from dataclasses import dataclass, field, replace

from stowage_optimizer.assignments.incumbent import SolutionWriter
from stowage_optimizer.bounds.proofs import trivial_bounds
from stowage_optimizer.model.budget import Budget, Reserve
from stowage_optimizer.model.objective import Score, score
from stowage_optimizer.model.options import Limits, Policy, SolveOptions
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.solution import Publish, Solution, TierResult
from stowage_optimizer.stages.finish.limits import Trimming, owners_of
from stowage_optimizer.stages.stage import Search, Stage
from stowage_optimizer.strategies.strategy import Strategy

TRIMMING = Reserve(pods_per_s=25_000, least_share=0.1, most_share=0.5)
"""For trimming it, where there are limits."""

REWRITTEN_PER_S = 50_000
"""Pods for which a trimmed solution is filled, scored and written in a second, which
cannot be interrupted."""


def search_within_limits(strategy: Strategy, packing: Packing, options: SolveOptions) -> tuple[Stage, ...]:
    """Return the search, and the trimming where there are limits."""
    search = Search(strategy, packing)
    if options.limits.none:
        return (search,)
    return search, Trim(packing, options.policy, options.limits)


@dataclass(slots=True)
class Trim(Stage):
    """The plan is trimmed to the limits on moves, evictions and disrupted workloads."""

    packing: Packing
    policy: Policy
    limits: Limits
    _trimming_s: float = field(init=False, default=0.0)
    _best: Solution | None = field(init=False, default=None)
    _value: Score = field(init=False, default=())
    _seen: tuple[Assignment, tuple[TierResult, ...]] | None = field(init=False, default=None)

    def reserve_s(self, budget: Budget) -> float:
        """Return the time to trim the last solution."""
        return TRIMMING.of(budget.limit_s, len(self.packing.snapshot.pods))

    def pass_on(self, found: Solution, budget: Budget) -> Solution | None:
        """Return ``found`` within the limits, if that is better than the last one.

        Where work is counted nothing is trimmed on the way: which solutions there was
        time for would decide about the last one.
        """
        found_by = budget.ends - self.reserve_s(budget)
        if budget.counted or not budget.before(found_by - self._trimming_s):
            return None
        began = budget.clock()
        better = self._keep(found, budget, found_by)
        self._trimming_s = budget.clock() - began
        return self._best if better else None

    def improve(self, known: Solution, budget: Budget, publish: Publish) -> Solution:
        """Return the best solution within the limits that has been seen."""
        del publish
        self._keep(known, budget, budget.ends)
        return replace(self._best or known, message=known.message)

    def _keep(self, found: Solution, budget: Budget, until: float) -> bool:
        """Trim ``found``; keep it and return True if it is the best so far."""
        if (found.assignment, found.tiers) == self._seen:
            return False
        self._seen = found.assignment, found.tiers
        rewriting_s = len(self.packing.snapshot.pods) / REWRITTEN_PER_S
        trimming = Trimming(
            self.packing,
            self.policy,
            self.limits,
            owners_of(self.packing),
            lambda: not budget.before(until - rewriting_s),
        )
        if not trimming.keeps(found.assignment):
            trimmed = trimming.trim(found.assignment)
            found = rewritten(found, trimmed, self.policy)
        value = score(self.packing, found.assignment, self.policy)
        better = self._best is None or value > self._value
        proved = value == self._value and found.optimal
        if better or proved:
            self._best, self._value = found, value
        return better


def rewritten(whole: Solution, trimmed: Assignment, policy: Policy) -> Solution:
    """Return the part ``trimmed`` of ``whole``, claiming no more than still holds."""
    packing = whole.packing
    part = SolutionWriter(packing, policy).write(trimmed, trivial_bounds(packing))
    before = score(packing, whole.assignment, policy)
    after = score(packing, trimmed, policy)
    changed = [
        (priority, one.kept == other.kept)
        for priority, one, other in zip(packing.tiers, before, after, strict=True)
        if one != other
    ]
    if not whole.tiers:
        return part
    if not changed:
        return replace(part, tiers=whole.tiers)
    first, keeps = changed[0]
    tiers = []
    for mine, proved in zip(part.tiers, whole.tiers, strict=True):
        if mine.priority > first:
            tiers.append(proved)
        elif mine.priority == first and keeps:
            tiers.append(_limited(mine, proved))
        else:
            # Its limits were proved for another outcome of the phases before.
            tiers.append(_limited(mine, mine))
    return replace(part, tiers=tuple(tiers))


def _limited(mine: TierResult, proved: TierResult) -> TierResult:
    """Return a tier limited by what is ``proved`` of its pods, and of nothing else."""
    return replace(
        mine,
        upper_bound=max(mine.placed, min(mine.upper_bound, proved.upper_bound)),
        disruption_lower_bound=0,
        optimal=False,
    )
