"""Numbers of a plan that are sums over kinds: what is wanted, and what must be kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from stowage_optimizer.bounds.question import Phase, Question
from stowage_optimizer.model.objective import EVICTION, MOVE
from stowage_optimizer.search.problem import Ints


@dataclass(frozen=True, slots=True)
class Linear:
    """A weighted sum over kinds, of three numbers each; larger is better.

    Parameters
    ----------
    phase, tier
        What is summed up.
    placed
        Weight of each pod that has a node, shape ``(kinds,)``.
    stays
        Weight of each running pod that stays at home, shape ``(kinds,)``.
    running
        Weight of each running pod that has a node, shape ``(kinds,)``. None of the
        weights is negative.
    constant
        What is added, or, of a requirement, what the sum must reach.
    """

    phase: Phase
    tier: int
    placed: Ints
    stays: Ints
    running: Ints
    constant: int


@dataclass(frozen=True, slots=True)
class Members:
    """The pods that are counted.

    Parameters
    ----------
    tier, running
        Tier and number of running pods by kind, shape ``(kinds,)``.
    settled
        Running pods by tier that stay at home and are in no kind, shape ``(tiers,)``.
    """

    tier: Ints
    running: Ints
    settled: Ints


def objective(question: Question, members: Members) -> Linear:
    """Return what the question maximises; of `DISRUPT` the negative disruption."""
    return _phase(question.phase, question.tier, members)


def requirements(question: Question, members: Members) -> Iterator[Linear]:
    """Yield what must be reached: each sum at least its ``constant``."""
    for above in range(question.tier + 1):
        score = question.reached[above]
        values = {Phase.KEEP: score.kept, Phase.PLACE: score.placed}
        values[Phase.DISRUPT] = score.stability
        for phase, value in values.items():
            if above == question.tier and phase.value >= question.phase.value:
                continue
            sums = _phase(phase, above, members)
            least = value - sums.constant
            # No sum is negative: the rest holds by itself.
            if least > 0:
                yield replace(sums, constant=least)


def _phase(phase: Phase, at: int, members: Members) -> Linear:
    nothing = np.zeros(len(members.tier), np.int64)
    within = (members.tier <= at).astype(np.int64)
    if phase is Phase.KEEP:
        own = (members.tier == at).astype(np.int64)
        settled = int(members.settled[at])
        return Linear(phase, at, nothing, nothing, own, settled)
    if phase is Phase.PLACE:
        settled = int(members.settled[: at + 1].sum())
        return Linear(phase, at, within, nothing, nothing, settled)
    # A running pod costs 0 at home, 2 elsewhere and 3 without a node.
    worst = -EVICTION * int(members.running[members.tier <= at].sum())
    moved = (EVICTION - MOVE) * within
    return Linear(phase, at, nothing, MOVE * within, moved, worst)
