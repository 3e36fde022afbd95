"""The stage after a strategy: solutions keep within limits and say what moves gain.

Of equal replicas the cheapest are disrupted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from stowage_optimizer.assignments.incumbent import SolutionWriter
from stowage_optimizer.bounds.proofs import trivial_bounds
from stowage_optimizer.model.budget import Budget, Reserve
from stowage_optimizer.model.objective import Score, score
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.solution import GainPoint, Publish, Solution, TierResult
from stowage_optimizer.stages.finish.cheapest import Replicas
from stowage_optimizer.stages.finish.limits import Trimming, owners_of
from stowage_optimizer.stages.finish.steps import Step, Steps
from stowage_optimizer.strategies.strategy import Strategy

ENDING = Reserve(pods_per_s=400_000, least_share=0.0, most_share=0.1)
"""For finishing and writing the last solution."""

TRIMMING = Reserve(pods_per_s=25_000, least_share=0.1, most_share=0.5)
"""For trimming it, where there are limits."""

REWRITTEN_PER_S = 50_000
"""Pods for which a trimmed solution is filled, scored and written in a second, which
cannot be interrupted."""

CURVE_S = 0.02
"""Time after the limit that the curve may still take."""

STEPS_FOUND_PER_S = 50_000
"""Pods whose steps are found in a second, at least. Where there is less time the curve
has its two ends only."""


def finished(
    strategy: Strategy, packing: Packing, budget: Budget, publish: Publish
) -> Solution:
    """Return the best solution of ``strategy`` within the limits; see `Strategy`."""
    pods = len(packing.snapshot.pods)
    finding = budget.without(ENDING.of(budget.limit_s, pods))
    if not budget.options.limits.none:
        finding = finding.without(TRIMMING.of(finding.limit_s, pods))
    finish = _Finish(packing, budget, finding.ends, publish)
    return finish.last(strategy.solve(packing, finding, finish.take))


def consolidated(
    strategy: Strategy, packing: Packing, budget: Budget, publish: Publish
) -> Solution:
    """Return the solution of ``strategy``, which is not to place pods."""
    replicas = Replicas(packing)
    return replicas.disrupt_cheapest(
        strategy.solve(
            packing, budget, lambda found: publish(replicas.disrupt_cheapest(found))
        )
    )


@dataclass(slots=True)
class _Finish:
    """Finishes the solutions of one solve.

    Parameters
    ----------
    found_by
        When no more solutions are looked for.
    """

    packing: Packing
    budget: Budget
    found_by: float
    publish: Publish
    _replicas: Replicas = field(init=False)
    _trimming_s: float = field(init=False, default=0.0)
    _best: Solution | None = field(init=False, default=None)
    _value: Score = field(init=False, default=())
    _seen: tuple[Assignment, tuple[TierResult, ...]] | None = field(
        init=False, default=None
    )

    def __post_init__(self) -> None:
        self._replicas = Replicas(self.packing)

    def take(self, found: Solution) -> None:
        """Publish ``found``, within the limits, if that is better than the last one.

        Where work is counted nothing is trimmed on the way: which solutions there was
        time for would decide about the last one.
        """
        if self.budget.options.limits.none:
            self.publish(self._replicas.disrupt_cheapest(found))
        elif not self.budget.counted and self.budget.before(
            self.found_by - self._trimming_s
        ):
            began = self.budget.clock()
            if self._keep(found, self.found_by) and self._best is not None:
                self.publish(self._replicas.disrupt_cheapest(self._best))
            self._trimming_s = self.budget.clock() - began

    def last(self, found: Solution) -> Solution:
        """Return the best solution within the limits, with its curve."""
        best = found
        if not self.budget.options.limits.none:
            self._keep(found, self.budget.ends)
            best = replace(self._best or found, message=found.message)
        best = replace(best, gain_by_moves=curve_of(best, self.budget))
        return self._replicas.disrupt_cheapest(best)

    def _keep(self, found: Solution, until: float) -> bool:
        """Trim ``found``; keep it and return True if it is the best so far."""
        if (found.assignment, found.tiers) == self._seen:
            return False
        self._seen = found.assignment, found.tiers
        rewriting_s = len(self.packing.snapshot.pods) / REWRITTEN_PER_S
        trimming = Trimming(
            self.packing,
            self.budget.policy,
            self.budget.options.limits,
            owners_of(self.packing),
            lambda: not self.budget.before(until - rewriting_s),
        )
        if not trimming.keeps(found.assignment):
            trimmed = trimming.trim(found.assignment)
            found = rewritten(found, trimmed, self.budget.policy)
        value = score(self.packing, found.assignment, self.budget.policy)
        better = self._best is None or value > self._value
        proved = value == self._value and found.optimal
        if better or proved:
            self._best, self._value = found, value
        return better


def curve_of(whole: Solution, budget: Budget) -> tuple[GainPoint, ...]:
    """Return what a plan without relations gains by moves, as far as there is time."""
    late = budget.ends + CURVE_S
    left_s = late - budget.clock()
    hurry = len(whole.packing.snapshot.pods) > left_s * STEPS_FOUND_PER_S
    if not whole.moves or (hurry and not budget.counted):
        return gain_by_moves(whole, ())
    steps = Steps(whole.packing, whole.assignment, stop=lambda: not budget.before(late))
    return gain_by_moves(whole, steps)


def gain_by_moves(whole: Solution, steps: Iterable[Step]) -> tuple[GainPoint, ...]:
    """Return how many pods a part places with at most so many moves, both ascending.

    Parameters
    ----------
    steps
        Its steps, as far as there was time to find them.
    """
    if not whole.tiers or not whole.moves:
        return ()
    last = whole.tiers[-1]
    moves, placed = 0, last.placed_before
    points = [GainPoint(0, placed)]
    for step in steps:
        moves += len(step.moved)
        placed += step.gain
        _add(points, GainPoint(moves, placed))
    end = GainPoint(whole.moves, last.placed)
    points = [
        one for one in points if one.moves < end.moves and one.placed < end.placed
    ]
    return (*points, end)


def _add(points: list[GainPoint], point: GainPoint) -> None:
    if point.placed <= points[-1].placed:
        return
    if point.moves == points[-1].moves:
        points.pop()
    points.append(point)


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
