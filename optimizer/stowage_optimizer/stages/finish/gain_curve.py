"""What a plan gains by moves: how many pods a part of it places with so many."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from stowage_optimizer.assignments.steps import Step, Steps
from stowage_optimizer.model.solution import GainPoint, Publish, Solution
from stowage_optimizer.model.time_budget import Reserve, TimeBudget
from stowage_optimizer.stages.stage import Stage

ENDING = Reserve(pods_per_s=400_000, least_share=0.0, most_share=0.1)
"""For finishing and writing the last solution."""

CURVE_S = 0.02
"""Time after the limit that the curve may still take."""

STEPS_FOUND_PER_S = 50_000
"""Pods whose steps are found in a second, at least. Where there is less time the curve
has its two ends only."""


@dataclass(frozen=True, slots=True)
class DrawCurve(Stage):
    """The curve is drawn: what a part of the plan places, by how many moves it makes.

    Where a part need not keep what ties pods, it is no plan: what is known there
    is what can be placed without a move, and by the whole plan.

    Parameters
    ----------
    pods
        Of the snapshot.
    """

    pods: int

    def reserve_s(self, budget: TimeBudget) -> float:
        """Return the time to draw the curve, and to write the solution that has it."""
        return ENDING.of(budget.limit_s, self.pods)

    def improve(self, known: Solution, budget: TimeBudget, publish: Publish) -> Solution:
        """Return ``known`` with its curve."""
        del publish
        if not known.packing.divisible:
            return known
        return replace(known, gain_by_moves=curve_of(known, budget))


def curve_of(whole: Solution, budget: TimeBudget) -> tuple[GainPoint, ...]:
    """Return what a plan gains by moves, as far as there is time."""
    late = budget.ends + CURVE_S
    left_s = late - budget.clock()
    hurry = len(whole.packing.snapshot.pods) > left_s * STEPS_FOUND_PER_S
    if not whole.moves or (hurry and not budget.deterministic):
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
    points = [one for one in points if one.moves < end.moves and one.placed < end.placed]
    return (*points, end)


def _add(points: list[GainPoint], point: GainPoint) -> None:
    if point.placed <= points[-1].placed:
        return
    if point.moves == points[-1].moves:
        points.pop()
    points.append(point)
