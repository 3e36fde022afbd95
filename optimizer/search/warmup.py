"""Compiling the search, or loading what an earlier process compiled."""

from __future__ import annotations

import numpy as np

from optimizer.model.packing import Item, Packing
from optimizer.search.exploration import CALMING, PLACING, explore
from optimizer.search.mending import Mender
from optimizer.search.moves import make_quest, seek
from optimizer.search.problem import make_problem
from optimizer.search.seating import enter, nothing_frozen
from optimizer.search.state import PLACED, make_state
from optimizer.search.terrain import NARROW, make_terrain


def warm_up() -> None:
    """Run every compiled function once for each set of argument types in use."""
    for width in (NARROW, NARROW + 1):
        problem = make_problem(_smallest(width))
        mended = Mender(problem, strict=True).mend(problem.home)
        terrain = make_terrain(problem, strict=True)
        state = make_state(terrain, problem.tiers, seed=0)
        for phase in (PLACING, CALMING):
            enter(mended, 0, nothing_frozen(terrain), terrain, state)
            state.goal[PLACED] = len(mended) + 1
            explore(1, 0, phase, 1.0, 1.0, terrain, state)
        enter(problem.home, 0, nothing_frozen(terrain), terrain, state)
        waiting = np.array([1], np.int32)
        seek(1, make_quest(waiting, 1, nothing_frozen(terrain), 2), terrain, state)


def _smallest(width: int) -> Packing:
    """Return a problem of two pods and two nodes."""
    pods = [
        Item("running", 0, (1,) * width, (0, 1), 0),
        Item("pending", 0, (1,) * width, (0, 1), None),
    ]
    room = ((1,) * width, (1,) * width)
    return Packing(("first", "second"), room, tuple(pods), (0,), ())
