"""The order of a plan's steps, which decides where some of them wait for others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stowage_optimizer.contract import optimizer_pb2 as pb


def rearrange(plan: pb.Plan, arrange: Callable[[list[Any]], None]) -> None:
    """Let ``arrange`` change the order of each of the plan's three lists."""
    placements, moves = list(plan.placements), list(plan.moves)
    evictions = list(plan.evictions)
    for steps in (placements, moves, evictions):
        arrange(steps)
    del plan.placements[:], plan.moves[:], plan.evictions[:]
    plan.placements.extend(placements)
    plan.moves.extend(moves)
    plan.evictions.extend(evictions)
