"""The curve: how many pods a part of the plan places with at most so many moves."""

from __future__ import annotations

from collections.abc import Iterable

from stowage_optimizer.model.plan import GainPoint, Plan
from stowage_optimizer.strategies.finish.steps import Step


def gain_by_moves(plan: Plan, steps: Iterable[Step]) -> tuple[GainPoint, ...]:
    """Return the points of ``plan``, ascending in moves and in pods.

    Parameters
    ----------
    plan
        The plan; its last point is all of it.
    steps
        Its steps, as far as there was time to find them.
    """
    if not plan.tiers or not plan.moves:
        return ()
    last = plan.tiers[-1]
    moves, placed = 0, last.placed_before
    points = [GainPoint(0, placed)]
    for step in steps:
        moves += len(step.moved)
        placed += step.gain
        _add(points, GainPoint(moves, placed))
    whole = GainPoint(len(plan.moves), last.placed)
    points = [
        one for one in points if one.moves < whole.moves and one.placed < whole.placed
    ]
    return (*points, whole)


def _add(points: list[GainPoint], point: GainPoint) -> None:
    if point.placed <= points[-1].placed:
        return
    if point.moves == points[-1].moves:
        points.pop()
    points.append(point)
