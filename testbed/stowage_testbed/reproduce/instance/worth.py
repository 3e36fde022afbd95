"""What a result is worth, as Algorithm 1 counts it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from stowage_testbed.reproduce.instance.rows import ResultRow


def tier_worth(result: ResultRow, placed: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return what is maximised, tier by tier: pods placed, then undisrupted.

    Parameters
    ----------
    placed
        Pods that have a node by priority, the highest first.
    """
    tiers = sorted(result.tiers, key=lambda tier: -tier.priority)
    if not tiers:
        # No plan was published in time: nothing moves.
        return tuple((count, 0) for count in accumulate(placed))
    return tuple((tier.placed, -tier.disruption) for tier in tiers)
