"""The objective, tier by tier: more pods placed, then less disruption."""

from __future__ import annotations

from dataclasses import dataclass

from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Assignment, Packing

MOVE = 2
"""Disruption of a move: the paper's weights are 3 stays, 1 moves, 0 is evicted."""

EVICTION = 3
"""Disruption of a running pod that is left unplaced."""


@dataclass(frozen=True, slots=True, order=True)
class TierScore:
    """What an assignment does for one tier; larger is better.

    ``kept`` counts the running pods of exactly the tier's priority that keep a node.
    Under the `PAPER` policy it is 0 throughout, since it does not count.
    """

    kept: int
    placed: int
    stability: int


Score = tuple[TierScore, ...]
"""One entry a tier, highest first; compared lexicographically."""


def score(packing: Packing, assignment: Assignment, policy: Policy) -> Score:
    """Return the value of ``assignment`` in every tier.

    Under ``STRICT``, keeping the running pods of a priority comes before placing
    pending pods of the same priority, so that only pods of strictly higher priority
    can push one out.
    """
    placed = disruption = 0
    scores = []
    for tier in packing.tiers:
        kept = 0
        for item, node in zip(packing.items, assignment, strict=True):
            if item.priority != tier:
                continue
            placed += node is not None
            kept += item.home is not None and node is not None
            disruption += disruption_of(item.home, node)
        wanted = policy is Policy.STRICT
        scores.append(TierScore(kept if wanted else 0, placed, -disruption))
    return tuple(scores)


def disruption_of(home: int | None, node: int | None) -> int:
    """Return what it costs that a pod of ``home`` ends on ``node``."""
    if home is None or node == home:
        return 0
    return EVICTION if node is None else MOVE
