"""What of a problem a question is about: the pods that count and are not settled.

Their numbers are sums over kinds: what is wanted, and what must be kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from stowage_optimizer.bounds.phase import SCALE, Phase, Question
from stowage_optimizer.model.objective import EVICTION, MOVE
from stowage_optimizer.model.problem import Flags, Ints, Problem, worth_of
from stowage_optimizer.search.search_arrays import load_of


@dataclass(frozen=True, slots=True)
class Linear:
    """A weighted sum over kinds, of three numbers each; larger is better.

    Parameters
    ----------
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
    worth
        What placing one counts by kind, shape ``(kinds,)``.
    settled, settled_worth
        Running pods by tier that stay at home and are in no kind, and what placing them
        counts, shape ``(tiers,)``.
    """

    tier: Ints
    running: Ints
    worth: Ints
    settled: Ints
    settled_worth: Ints


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
        settled = int(members.settled_worth[: at + 1].sum())
        return Linear(phase, at, within * members.worth, nothing, nothing, settled)
    # A running pod costs 0 at home, 2 elsewhere and 3 without a node.
    worst = -EVICTION * int(members.running[members.tier <= at].sum())
    moved = (EVICTION - MOVE) * within
    return Linear(phase, at, nothing, MOVE * within, moved, worst)


WEIGHT = 30
"""What a pod that is kept or placed is worth beside disruption, in a sum of all."""

MOST_WEIGHT = 2**11
"""What one may be worth there at most: more would be too much to compute with."""


def sum_weights(scope: Scope) -> dict[Phase, int]:
    """Return what a pod that is kept, and a unit of what placing counts, is worth in a sum of all.

    A pod of mean worth is worth `WEIGHT`, as far as whole numbers let it.
    """
    most = int(scope.worth.max(initial=1))
    unit = max(1, min(WEIGHT // mean_worth(scope), MOST_WEIGHT // most))
    return {Phase.KEEP: unit * most, Phase.PLACE: unit}


def mean_worth(scope: Scope) -> int:
    """Return what placing a pod of the scope counts on average, rounded down; at least 1."""
    return max(1, int(scope.worth @ scope.count) // max(1, int(scope.count.sum())))


def phases(scope: Scope, tier: int) -> tuple[Linear, ...]:
    """Return the sums of the phases of ``tier``, without what settled pods add."""
    members = Members(
        tier=scope.problem.tier[scope.kinds].astype(np.int64),
        running=scope.running,
        worth=scope.worth,
        settled=(nothing := np.zeros(scope.problem.tiers, np.int64)),
        settled_worth=nothing,
    )
    return tuple(_phase(phase, tier, members) for phase in Phase)


def weighted(scope: Scope, tier: int) -> Linear:
    """Return the phases of ``tier`` as one sum, which says what all of them want."""
    keep, place, disrupt = phases(scope, tier)
    weights = sum_weights(scope)
    return Linear(
        phase=Phase.DISRUPT,
        tier=tier,
        placed=weights[Phase.PLACE] * place.placed,
        stays=disrupt.stays,
        running=weights[Phase.KEEP] * keep.running + disrupt.running,
        constant=0,
    )


@dataclass(frozen=True, slots=True)
class Scope:
    """The pods of the question's tiers, without those that cannot but stay at home.

    Where the tiers above are reached without any disruption, their running pods stay at
    home in every assignment that the question is about. Such pods are taken out, with
    their room.

    Parameters
    ----------
    items
        Items in scope, shape ``(n,)``.
    kind_of
        Index into ``kinds`` by item in scope, shape ``(n,)``.
    kinds
        The problem's kinds that have items in scope, ascending, shape ``(kinds,)``.
    demand
        Shape ``(kinds, dimensions)``.
    count, running
        Items in scope, and those of them that run, by kind, shape ``(kinds,)``.
    free
        Room that newcomers find when no item in scope is anywhere, shape ``(nodes,
        dimensions)``; may be negative.
    room
        What items in scope take of a node at most, shape ``(nodes, dimensions)``:
        ``free``, or on an overcommitted node what those at home take now.
    all_needed
        Whether each pod needs a node, and nodes cost something.
    """

    problem: Problem
    items: Ints
    kind_of: Ints
    kinds: Ints
    demand: Ints
    count: Ints
    running: Ints
    free: Ints
    room: Ints
    objective: Linear
    requirements: tuple[Linear, ...]
    all_needed: bool = False

    @property
    def home(self) -> Ints:
        """Node of each item in scope, negative while pending, shape ``(n,)``."""
        return self.problem.home[self.items].astype(np.int64)

    @property
    def worth(self) -> Ints:
        """What placing one counts by kind, shape ``(kinds,)``."""
        return worth_of(self.problem, self.kinds)


def make_scope(question: Question, *, loosened: bool = False) -> Scope:
    """Return the scope of ``question``.

    Parameters
    ----------
    loosened
        Whether to leave out all that is about single nodes: that pods stay where no
        disruption is allowed, and that disruption must be as small as reached.
    """
    problem = question.problem
    tier_of = problem.tier[problem.kind].astype(np.int64)
    counts = tier_of <= question.tier
    undisrupted = 0 if loosened else _undisrupted_tiers(question)
    settled = counts & (tier_of < undisrupted) & (problem.home >= 0)
    free = problem.room - load_of(problem, np.flatnonzero(settled))
    items = np.flatnonzero(counts & ~settled)
    room = np.maximum(free, load_of(problem, items[problem.home[items] >= 0]))
    kinds, kind_of = np.unique(problem.kind[items], return_inverse=True)
    runs = problem.home[items] >= 0
    running = np.bincount(kind_of[runs], minlength=len(kinds)).astype(np.int64)
    members = Members(
        tier=problem.tier[kinds].astype(np.int64),
        running=running,
        worth=worth_of(problem, kinds),
        settled=np.bincount(tier_of[settled], minlength=problem.tiers),
        settled_worth=problem.counted(settled),
    )
    return Scope(
        problem=problem,
        items=items,
        kind_of=kind_of,
        kinds=kinds.astype(np.int64),
        demand=problem.demand[kinds],
        count=np.bincount(kind_of, minlength=len(kinds)).astype(np.int64),
        running=running,
        free=free,
        room=room,
        objective=objective(question, members),
        requirements=tuple(
            one for one in requirements(question, members) if not (loosened and one.phase is Phase.DISRUPT)
        ),
    )


def arrivals(scope: Scope, nodes: Ints | None = None) -> Flags:
    """Return which kinds may newly come to which nodes, shape ``(nodes, kinds)``.

    A pod that comes must fit beside those that certainly stay.

    Parameters
    ----------
    nodes
        The nodes that are asked about; None for all.
    """
    problem = scope.problem
    asked = np.arange(len(scope.free)) if nodes is None else nodes
    allowed = problem.allowed[:, asked][problem.mask[scope.kinds]].T.copy()
    for dimension in range(scope.demand.shape[1]):
        wanted = scope.demand[:, dimension]
        allowed &= (wanted <= scope.free[asked, dimension, None]) | (wanted == 0)
    return allowed


def _undisrupted_tiers(question: Question) -> int:
    """Return how many tiers, from the highest, are reached without disruption."""
    count = 0
    while count < question.tier and question.reached[count].stability == 0:
        count += 1
    return count


def from_maximum(question: Question, scope: Scope, bound: int) -> int:
    """Return the bound in the phase's numbers.

    Parameters
    ----------
    bound
        No assignment in question has more, in parts of `SCALE`, without the
        objective's constant.
    """
    value = bound // SCALE + scope.objective.constant
    if question.phase is not Phase.DISRUPT:
        return value
    return _possible(question, max(0, -value))


def to_maximum(question: Question, scope: Scope, value: int) -> int:
    """Return the largest sum that proves ``value``, without the constant."""
    if question.phase is not Phase.DISRUPT:
        return value - scope.objective.constant
    least = value
    if value and value % 2 == 0 and (value == 2 or all_placed(question)):  # noqa: PLR2004
        least = value - 1
    return -least - scope.objective.constant


def next_worse(question: Question, value: int) -> int:
    """Return the value that comes after ``value``, in the phase's numbers."""
    if question.phase is not Phase.DISRUPT:
        return value - 1
    return _possible(question, value + 1)


def _possible(question: Question, disruption: int) -> int:
    """Return the least disruption from ``disruption`` on that can be."""
    # Moves cost 2, evictions 3: nothing costs 1, and only evictions make it odd.
    odd = disruption % 2 == 1
    if odd and (disruption == 1 or all_placed(question)):
        return disruption + 1
    return disruption


def all_placed(question: Question) -> bool:
    """Return whether all pods of the tier have nodes in each assignment in question."""
    problem = question.problem
    total = problem.counted(problem.tier[problem.kind] <= question.tier).sum()
    return bool(question.reached[question.tier].placed == total)
