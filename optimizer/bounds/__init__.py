"""Proved limits on what any plan can reach, phase by phase and tier by tier.

How to use it::

    question = Question(problem, tier, Phase.PLACE, reached)
    bound = knapsack_bound(question, clock=clock, deadline=deadline)
    if bound is not None and bound.value < limit:
        limit = bound.value             # and bound.method says why

``reached`` holds a `TierScore` for each tier down to ``tier``: of the tiers above the
whole score, of this tier what its earlier phases reached. A bound is true for every
assignment that is at least as good in each of those numbers, so it proves a tier
optimal only where the tiers above are proved optimal too. Ask `KEEP` under `STRICT`
only. Every function stops soon after its deadline and answers None if it has nothing.

No bound depends on a rounded number being right: what floating point finds are
multipliers, and the bound is then computed from them in integers.
"""

from optimizer.bounds.bound import Bound
from optimizer.bounds.knapsack import knapsack_bound
from optimizer.bounds.question import Phase, Question

__all__ = ["Bound", "Phase", "Question", "knapsack_bound"]
