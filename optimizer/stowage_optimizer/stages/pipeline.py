"""From a snapshot to an answer: which stages there are, and which a request needs.

A solution becomes a plan when it is sent (`stowage_optimizer.model.encode`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from stowage_optimizer.constraints.preferences import has_preferences
from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.constraints.refusals import Gangs
from stowage_optimizer.model.options import Objective
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.model.solution import Publish, Solution
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.stages.consolidate.strategy import Consolidate
from stowage_optimizer.stages.finish.arrival_turns import GiveTurns
from stowage_optimizer.stages.finish.cheapest_replicas import DisruptCheapest
from stowage_optimizer.stages.finish.gain_curve import DrawCurve
from stowage_optimizer.stages.preferences import LOOKING, Prefer
from stowage_optimizer.stages.stage import Stage, run_stages
from stowage_optimizer.stages.tied.keep_ties import REPAIRING_SHARE, KeepTies, repairing_s
from stowage_optimizer.stages.tied.place_beside import PlaceBeside
from stowage_optimizer.strategies.strategy import Strategy
from stowage_optimizer.ties.registry import with_ties, within_limits

MOVED_PER_S = 500
"""Pods of a snapshot in which those with demands are moved, a second of the limit.
Where there are more, or repairing a plan takes too long, they are only placed."""


class Packings:
    """The packing problems of a snapshot, each reduced when it is first asked for.

    Parameters
    ----------
    gangs
        Which pods of gangs they have.
    """

    def __init__(self, snapshot: Snapshot, *, gangs: Gangs = Gangs.WHOLE) -> None:
        self.snapshot = snapshot
        self._gangs = gangs
        self.demanding = any(one.demanding for one in snapshot.classes.values())

    @cached_property
    def plain(self) -> Packing:
        """The problem without the pods that have demands on other pods."""
        return self._with_ties(reduce_snapshot(self.snapshot, gangs=self._gangs))

    @cached_property
    def related(self) -> Packing:
        """The problem with them."""
        if not self.demanding:
            return self.plain
        return self._with_ties(reduce_snapshot(self.snapshot, relations=True, gangs=self._gangs))

    def _with_ties(self, packing: Packing) -> Packing:
        return with_ties(packing, gangs=self._gangs is Gangs.WHOLE)

    def with_gangs(self, gangs: Gangs) -> "Packings":
        """Return the problems with some of the pods of gangs."""
        return Packings(self.snapshot, gangs=gangs) if self.snapshot.gangs else self

    @property
    def waiting(self) -> bool:
        """Whether a pod waits: else there is nothing to gain."""
        return not self.snapshot.pods.running.all()

    @property
    def asks_for_relations(self) -> bool:
        """Whether a pod waits, and a class has demands on other pods."""
        return self.demanding and self.waiting

    def hurried(self, budget: TimeBudget) -> bool:
        """Return whether there is no time to move the pods with demands."""
        if not self.demanding or self.related.divisible:
            return False
        return (
            len(self.snapshot.pods) > MOVED_PER_S * budget.limit_s
            or repairing_s(self.related) > REPAIRING_SHARE * budget.limit_s
        )


@dataclass(frozen=True, slots=True)
class Search(Stage):
    """The strategy looks for the best plan, and for bounds on any plan.

    Parameters
    ----------
    packing
        The problem, which may be a part of the whole one.
    """

    strategy: Strategy
    packing: Packing

    def improve(self, known: Solution, budget: TimeBudget, publish: Publish) -> Solution:
        """Return what the strategy finds; it begins anew."""
        del known
        return self.strategy.solve(self.packing, budget, publish)


def solve(strategy: Strategy, packings: Packings, budget: TimeBudget, publish: Publish) -> Solution:
    """Return the best solution of ``strategy``, with all that the options ask for.

    Parameters
    ----------
    strategy
        Searches; there is one only for the objective `CONSOLIDATE`.
    """
    stages = tuple(_stages(strategy, packings, budget))
    if packings.snapshot.device_requests:
        stages = (*stages, GiveTurns())
    packing = packings.related if packings.asks_for_relations else packings.plain
    known = Solution(packing, packing.current)
    return run_stages(stages, known, budget, publish)


def _stages(strategy: Strategy, packings: Packings, budget: TimeBudget) -> Iterator[Stage]:
    """Yield the stages that an answer needs."""
    pods = len(packings.snapshot.pods)
    if budget.options.objective is Objective.CONSOLIDATE:
        moved = packings.with_gangs(Gangs.MOVED)
        yield Search(Consolidate(packings.related), moved.plain)
        yield DisruptCheapest(moved.plain)
        return
    if getattr(strategy, "is_self_contained", False):
        yield Search(strategy, packings.with_gangs(Gangs.LEFT_ALONE).related)
        return
    if not packings.waiting:
        yield Search(strategy, packings.plain)
        yield from _finish(packings.plain)
    elif not budget.deterministic and packings.hurried(budget):
        found = (_find(strategy, packings.plain, budget), *_finish(packings.plain))
        yield PlaceBeside(found, packings.related)
    else:
        yield _find(strategy, packings.related, budget)
        yield from _finish(packings.related)
    if has_preferences(packings.snapshot) and LOOKING.suffices(budget, pods):
        yield Prefer(packings.related)


def _find(strategy: Strategy, packing: Packing, budget: TimeBudget) -> Stage:
    """Return the stage that finds a plan with all that ties pods to each other."""
    packing = within_limits(packing, budget.options.limits)
    return Search(strategy, packing) if all(tie.native for tie in packing.ties) else KeepTies(strategy, packing)


def _finish(packing: Packing) -> tuple[Stage, ...]:
    return DisruptCheapest(packing), DrawCurve(len(packing.snapshot.pods))
