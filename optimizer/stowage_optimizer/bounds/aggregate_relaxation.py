"""The linear program over kinds of nodes: a first bound, at any size of cluster.

Nodes of a kind share their room, pods may be cut up, and nobody needs to stay at home:
its size depends on the kinds of pods and nodes only. Its duals are prices, and what
they prove is computed like that of any others, from the best content of one node of
each kind.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from stowage_optimizer.bounds.groups import MOST_CELLS, Groups, groups_without_homes
from stowage_optimizer.bounds.highs import Entries, LinearProgram
from stowage_optimizer.bounds.lagrangian import Lagrangian
from stowage_optimizer.bounds.master import Patterns, Rows
from stowage_optimizer.bounds.phase import SCALE, Bound, Duals, Floats, Phase, Question
from stowage_optimizer.bounds.scope import Scope, arrivals, from_maximum, make_scope, mean_worth, weighted
from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.options import Clock
from stowage_optimizer.model.problem import Ints

SLACK = SCALE // 256
"""By how much the bound may miss what its prices could prove, where a pod counts 1."""


@dataclass(frozen=True, slots=True)
class AggregateBound:
    """What the program proves, and what its prices are of."""

    scope: Scope
    bound: Bound


def aggregate_bound(question: Question, clock: Clock, deadline: float) -> AggregateBound | None:
    """Return what the program proves of keeping or placing; None if it was too slow.

    Of disruption it knows nothing: that is about single nodes.
    """
    if question.phase is Phase.DISRUPT:
        return None
    scope = make_scope(question, loosened=True)
    groups = _kinds_of_nodes(scope)
    if groups is None:
        return None
    optimum = solve_relaxation(scope, groups, deadline - clock())
    if optimum is None:
        return None
    lagrangian = Lagrangian(scope, groups, lambda: clock() > deadline, optimum.mixes)
    found = lagrangian.evaluate(lagrangian.round(optimum.duals), mean_worth(scope) * SLACK)
    if found is None:
        return None
    value = from_maximum(question, scope, found.bound)
    return AggregateBound(scope, Bound(value, ProofMethod.DUAL_BOUND, found.prices))


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
    optimum = None if groups is None else solve_relaxation(loose, groups, limit_s)
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
    return groups_without_homes(scope, group, scope.room[first], come, np.zeros_like(size))


@dataclass(frozen=True, slots=True)
class RelaxedOptimum:
    """The optimum where pods may be cut up.

    Parameters
    ----------
    mixes
        What each dimension's share is of a node's price. With these shares no node can
        hold anything that is worth more than its price: the bound is as good as that
        of the program.
    """

    duals: Duals
    mixes: Floats


def solve_relaxation(scope: Scope, groups: Groups, limit_s: float) -> RelaxedOptimum | None:
    """Return the optimum where pods may be cut up; None if it is not found in time.

    Columns: pods of each kind on each kind of node, running ones with a node, and nodes
    in use where they cost something. Rows: those of a master problem, but for the nodes;
    and room by kind of node and dimension, as shares of that of all such nodes.
    """
    rows = Rows(scope, groups)
    at, kind = np.nonzero(groups.come)
    pods = Patterns(at, np.arange(len(at)), kind, np.zeros_like(at), np.ones_like(at))
    low, high = rows.limits()
    high[len(scope.count) : rows.run] = np.inf
    room, nodes, rooms = len(low), np.repeat(groups.size, groups.room.shape[1]), groups.room.size
    # Ten times as fast as the simplex where each node is a group of its own.
    options = {"solver": "ipm", "run_crossover": "off"} if scope.all_needed else {}
    program = LinearProgram(
        np.append(low, np.full(rooms, -np.inf)), np.append(high, np.full(rooms, float(not scope.all_needed))), **options
    )
    counted, _, *others = rows.of_patterns(pods)
    program.add_columns(
        -rows.total(scope.objective, pods),
        np.full(len(pods), np.inf),
        [counted, *others, *room_shares(groups, pods, groups.size, room)],
    )
    running = scope.objective.running[rows.mixed]
    program.add_columns(-running.astype(float), scope.running[rows.mixed].astype(float), rows.of_running())
    if scope.all_needed:
        own = Entries(room + np.arange(rooms), np.arange(rooms) // groups.room.shape[1], -1 / nodes)
        program.add_columns(groups.cost / SCALE, groups.size.astype(float), [own])
    found = program.minimum(limit_s)
    if found is None:
        return None
    dual, run = -found.dual, np.zeros(len(scope.count))
    run[rows.mixed] = np.maximum(0, dual[rows.run : rows.need])
    duals = Duals(dual[: len(run)], run, np.maximum(0, -dual[rows.need : room]))
    price = np.maximum(0, dual[room:]).reshape(groups.room.shape)
    priced = price[price.any(axis=1)]
    return RelaxedOptimum(duals, np.unique(priced / priced.sum(axis=1, keepdims=True), axis=0))


def room_shares(groups: Groups, pods: Patterns, nodes: Ints, first: int) -> Iterator[Entries]:
    """Yield what ``pods`` take of the room of so many ``nodes`` of each group, in rows from the ``first`` on."""
    total, width = np.maximum(groups.room * nodes[:, None], 1), groups.demand.shape[1]
    for dimension, wanted in enumerate(groups.demand.T):
        columns = np.flatnonzero(wanted[pods.kind])
        at = pods.group[columns]
        share = wanted[pods.kind[columns]] / total[at, dimension]
        yield Entries(first + at * width + dimension, columns, share)
