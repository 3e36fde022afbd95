"""The objective, tier by tier: more pods placed, then less disruption."""

from typing import NamedTuple

import numpy as np

from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Assignment, Packing, as_nodes
from stowage_optimizer.model.problem import NOWHERE, Flags, Indices, Ints, Problem

MOVE = 2
"""Disruption of a move: the paper's weights are 3 stays, 1 moves, 0 is evicted."""

EVICTION = 3
"""Disruption of a running pod that is left unplaced."""


class TierScore(NamedTuple):
    """What an assignment does for one tier; larger is better.

    ``kept`` counts the running pods of exactly the tier's priority that keep a node.
    Under the `PAPER` policy it is 0 throughout, since it does not count. ``placed`` and
    ``stability`` are sums over the pods of this tier's priority and of all above: of
    what placing each of them counts, and of how it is disrupted.
    """

    kept: int
    placed: int
    stability: int


Score = tuple[TierScore, ...]
"""One entry a tier, highest first; compared lexicographically."""


def score(packing: Packing, assignment: Assignment, policy: Policy) -> Score:
    """Return the value of ``assignment`` in every tier; see `value_of`."""
    strict = policy is Policy.STRICT
    return value_of(packing.problem, as_nodes(assignment), strict=strict)


def value_of(problem: Problem, nodes: Indices, *, strict: bool) -> Score:
    """Return the value of an assignment; no item counts as kept unless ``strict``.

    Keeping the running pods of a priority then comes before placing pending pods of the
    same priority, so that only pods of strictly higher priority can push one out.

    Parameters
    ----------
    nodes
        Node by item or ``NOWHERE``, shape ``(items,)``.
    """
    tier = problem.tier[problem.kind]
    placed = nodes != NOWHERE
    running = problem.home != NOWHERE
    away = running & (nodes != problem.home)

    def count(flags: Flags) -> Ints:
        return np.bincount(tier[flags], minlength=problem.tiers)

    kept = count(running & placed) * int(strict)
    stability = -MOVE * count(away & placed) - EVICTION * count(away & ~placed)
    columns = (kept, problem.counted(placed).cumsum(), stability.cumsum())
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(TierScore(*row) for row in rows)
