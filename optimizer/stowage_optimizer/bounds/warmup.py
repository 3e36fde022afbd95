"""Compiling, or loading, what would else be compiled in the first request."""

from __future__ import annotations

import numpy as np

from stowage_optimizer.bounds.dual import dual_bound
from stowage_optimizer.bounds.enumeration import enumeration_bound
from stowage_optimizer.bounds.question import Phase, Question
from stowage_optimizer.model.objective import TierScore
from stowage_optimizer.model.packing import Item, Packing
from stowage_optimizer.search.problem import make_problem


def warmup() -> None:
    """Ask for one bound; call it once a process, before time counts."""
    packing = Packing(
        node_names=("node",),
        room=((2,),),
        items=tuple(Item(str(one), 0, (1,), (0,), None) for one in range(3)),
        tiers=(0,),
        refusals=(),
    )
    question = Question(make_problem(packing), 0, Phase.PLACE, (TierScore(0, 0, 0),))
    bound = dual_bound(question, np.full(3, -1), clock=lambda: 0.0, deadline=60.0)
    if bound is not None and bound.prices is not None:
        # Something better than 1 exists: all of it runs.
        enumeration_bound(question, bound.prices, 1, clock=lambda: 0.0, deadline=60.0)
