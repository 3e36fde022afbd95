"""The linear program over kinds of nodes: a first limit, at any size of cluster.

Nodes of a kind share their room, pods may be cut up, and nobody needs to stay at home:
its size depends on the kinds of pods and nodes only. Its duals are prices, and what
they prove is computed like that of any others, from the best content of one node of
each kind.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from stowage_optimizer.bounds.groups import MOST_CELLS, Groups, binding
from stowage_optimizer.bounds.highs import Entries, Program, minimum_duals
from stowage_optimizer.bounds.lagrangian import Lagrangian
from stowage_optimizer.bounds.question import SCALE, Bound, Duals, Floats, Phase, Question
from stowage_optimizer.bounds.scope import Linear, Scope, arrivals, from_maximum, make_scope, weighted
from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.options import Clock

SLACK = SCALE // 256
"""By how much the limit may miss what its prices could prove."""


@dataclass(frozen=True, slots=True)
class FirstLimit:
    """What the program proves, and what its prices are of."""

    scope: Scope
    bound: Bound


def limit_by_kind(question: Question, clock: Clock, deadline: float) -> FirstLimit | None:
    """Return what the program proves of keeping or placing; None if it was too slow.

    Of disruption it knows nothing: that is about single nodes.
    """
    if question.phase is Phase.DISRUPT:
        return None
    scope = make_scope(question, loosened=True)
    groups = _kinds_of_nodes(scope)
    if groups is None:
        return None
    optimum = _Program(scope, groups).solve(deadline - clock())
    if optimum is None:
        return None
    lagrangian = Lagrangian(scope, groups, lambda: clock() > deadline, optimum.mixes)
    found = lagrangian.evaluate(lagrangian.round(optimum.duals), SLACK)
    if found is None:
        return None
    value = from_maximum(question, scope, found.bound)
    return FirstLimit(scope, Bound(value, ProofMethod.DUAL_BOUND, found.prices))


def starting_duals(question: Question, scope: Scope, limit_s: float) -> Duals | None:
    """Return prices to begin with for the phases of a tier as one sum; None if late.

    Parameters
    ----------
    scope
        Of that sum. Prices of which the program knows nothing are 0.
    """
    loose = make_scope(replace(question, phase=Phase.KEEP), loosened=True)
    aim = weighted(loose, question.tier)
    # Nobody need stay at home here, so that all that run are worth as much as if.
    aim = replace(aim, running=aim.running + aim.stays, stays=np.zeros_like(aim.stays))
    loose = replace(loose, objective=aim)
    groups = _kinds_of_nodes(loose)
    optimum = None if groups is None else _Program(loose, groups).solve(limit_s)
    if optimum is None:
        return None
    found = optimum.duals
    at = np.searchsorted(loose.kinds, scope.kinds)
    each = zip(loose.requirements, found.requirement.tolist(), strict=True)
    price = {(one.phase, one.tier): value for one, value in each}
    requirement = [price.get((one.phase, one.tier), 0.0) for one in scope.requirements]
    return Duals(found.pod[at], found.run[at], np.array(requirement, float))


def _kinds_of_nodes(scope: Scope) -> Groups | None:
    """Return the nodes of equal room that are open to the same pods, as groups."""
    problem, kinds = scope.problem, len(scope.kinds)
    if not len(scope.room) or not kinds:
        return None
    rows = np.column_stack([problem.group, scope.room, scope.free])
    _, first, group, size = np.unique(rows, axis=0, return_index=True, return_inverse=True, return_counts=True)
    if len(first) * kinds > MOST_CELLS:
        return None
    come = np.where(arrivals(scope, first), scope.count, 0).astype(np.int32)
    # Who is at home stays, also where nobody may come any more.
    home, runs = scope.home, scope.home >= 0
    pairs, number = np.unique(home[runs] * kinds + scope.kind_of[runs], return_counts=True)
    np.maximum.at(come, (group[pairs // kinds], pairs % kinds), number)
    used = binding(scope.demand, scope.room[first])
    room = np.ascontiguousarray(scope.room[first][:, used])
    nothing = np.zeros(kinds, np.int64)
    return Groups(
        group=group.astype(np.int32),
        size=size.astype(np.int64),
        room=room,
        alike=np.arange(len(first), dtype=np.int32),
        stay=np.zeros_like(come),
        come=come,
        demand=np.ascontiguousarray(scope.demand[:, used]),
        staying=nothing,
    )


@dataclass(frozen=True, slots=True)
class _Optimum:
    """The duals of the program, and what each dimension's share is of a node's price.

    With these shares no node can hold anything that is worth more than its price: the
    limit is as good as that of the program.
    """

    duals: Duals
    mixes: Floats


class _Program:
    """Columns: pods of each kind on each kind of node, then running ones with a node.

    Rows: pods there are; for kinds of which some run, running pods and pods with a
    node; room by kind of node and dimension, as shares; requirements.
    """

    def __init__(self, scope: Scope, groups: Groups) -> None:
        self._scope, self._groups = scope, groups
        self._all_run = scope.running == scope.count
        self._mixed = np.flatnonzero((scope.running > 0) & ~self._all_run)
        self._at, self._kind = np.nonzero(groups.come)

    def solve(self, limit_s: float) -> _Optimum | None:
        """Return the duals of the optimum; None if it is not found in time."""
        counts, runs, rooms = self._sizes
        dual = minimum_duals(self._program(), limit_s)
        if dual is None:
            return None
        run = np.zeros(counts)
        run[self._mixed] = np.maximum(0, -dual[counts:][:runs])
        duals = Duals(
            pod=np.maximum(0, -dual[:counts]), run=run, requirement=np.maximum(0, dual[counts + runs + rooms :])
        )
        price = np.maximum(0, -dual[counts + runs :][:rooms])
        price = price.reshape(self._groups.room.shape)
        priced = price[price.any(axis=1)]
        mixes = np.unique(priced / priced.sum(axis=1, keepdims=True), axis=0)
        return _Optimum(duals, mixes)

    @property
    def _sizes(self) -> tuple[int, int, int]:
        """Rows of each sort, before those of requirements."""
        return len(self._scope.count), len(self._mixed), self._groups.room.size

    def _program(self) -> Program:
        scope, (counts, runs, rooms) = self._scope, self._sizes
        placed, needs = len(self._kind), scope.requirements
        free = counts + runs + rooms
        return Program(
            cost=-self._weights(scope.objective),
            upper=np.concatenate([np.full(placed, np.inf), scope.running[self._mixed]]),
            low=np.array([-np.inf] * free + [one.constant for one in needs]),
            high=np.concatenate([scope.count, np.zeros(runs), np.ones(rooms), [np.inf] * len(needs)]),
            entries=[*self._counting(), *self._room(), *self._requiring()],
        )

    def _counting(self) -> Iterator[Entries]:
        """Yield the rows of pods there are, and of running ones with a node."""
        (counts, runs, _), columns = self._sizes, np.arange(len(self._kind))
        yield Entries(self._kind, columns, np.ones(len(columns)))
        row = np.full(counts, -1)
        row[self._mixed] = counts + np.arange(runs)
        some = columns[row[self._kind] >= 0]
        yield Entries(row[self._kind[some]], some, -np.ones(len(some)))
        yield Entries(row[self._mixed], len(columns) + np.arange(runs), np.ones(runs))

    def _room(self) -> Iterator[Entries]:
        (counts, runs, _), groups = self._sizes, self._groups
        total = np.maximum(groups.room * groups.size[:, None], 1)
        for dimension, wanted in enumerate(groups.demand.T):
            columns = np.flatnonzero(wanted[self._kind])
            at = self._at[columns]
            row = counts + runs + at * groups.demand.shape[1] + dimension
            share = wanted[self._kind[columns]] / total[at, dimension]
            yield Entries(row, columns, share)

    def _requiring(self) -> Iterator[Entries]:
        for row, one in enumerate(self._scope.requirements, sum(self._sizes)):
            weights = self._weights(one)
            columns = np.flatnonzero(weights)
            yield Entries(np.full(len(columns), row), columns, weights[columns])

    def _weights(self, one: Linear) -> Floats:
        """Return what a unit of each column adds to ``one``."""
        placed = one.placed + np.where(self._all_run, one.running, 0)
        return np.concatenate([placed[self._kind], one.running[self._mixed]]).astype(float)
