"""Which patterns go together: a set packing problem for CP-SAT."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from stowage_optimizer.bounds.groups import Groups, at_home
from stowage_optimizer.bounds.master import Patterns, Rows
from stowage_optimizer.bounds.phase import Phase, Question
from stowage_optimizer.bounds.scope import Scope
from stowage_optimizer.model.problem import NOWHERE, Indices, Ints


def target_of(question: Question, scope: Scope, aim: int) -> int:
    """Return the least sum, without the constant, that is as good as ``aim``."""
    value = -aim if question.phase is Phase.DISRUPT else aim
    return value - scope.objective.constant


@dataclass(frozen=True, slots=True)
class Combined:
    """What a combination came to, as sums without the objective's constant.

    Parameters
    ----------
    value
        Of the best combination found; None where none is known.
    bound
        No combination is worth more; None where that is not known.
    content
        How many pods of each kind each node has in the best, shape ``(nodes, kinds)``.
    """

    value: int | None
    bound: int | None
    content: Ints | None = None


def combine(
    scope: Scope, groups: Groups, patterns: Patterns, target: int, *, limit_s: float, steps: float | None
) -> Combined:
    """Return the best choice of a pattern for each node, such that the pods suffice.

    Parameters
    ----------
    patterns
        Those to choose from. Every node holds one of them, if only the empty one.
    target
        What the objective must reach, without its constant.
    limit_s
        Seconds to take at most.
    steps
        CP-SAT's own limit in its steps, for a deterministic solve.
    """
    model, rows = cp_model.CpModel(), Rows(scope, groups)
    most = np.concatenate([scope.running[rows.mixed], groups.size[patterns.group]])
    variables = [model.new_int_var(0, each, "") for each in most.tolist()]
    uses = variables[len(rows.mixed) :]
    low, high = rows.limits()
    low[len(scope.count) : rows.run] = groups.size
    terms: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for one in (*rows.of_running(), *rows.of_patterns(patterns, len(rows.mixed))):
        for row, column, value in zip(one.row.tolist(), one.column.tolist(), one.value.tolist(), strict=True):
            terms[row].append((column, int(value)))
    for row, (least, limit) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        columns, values = zip(*terms[row], strict=True) if terms[row] else ((), ())
        load = cp_model.LinearExpr.weighted_sum([variables[column] for column in columns], values)
        lower = cp_model.INT_MIN if np.isinf(least) else int(least)
        model.add_linear_constraint(load, lower, cp_model.INT_MAX if np.isinf(limit) else int(limit))
    worth = np.concatenate([scope.objective.running[rows.mixed], rows.total(scope.objective, patterns)])
    goal = cp_model.LinearExpr.weighted_sum(variables, worth.astype(np.int64).tolist())
    model.add(goal >= target)
    model.maximize(goal)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    # The rows are tight as they stand; probing them took most of the time.
    solver.parameters.cp_model_presolve = False
    solver.parameters.max_time_in_seconds = max(0.001, limit_s)
    if steps is not None:
        solver.parameters.max_deterministic_time = steps
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return Combined(None, target - 1)
    if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return Combined(None, None)
    # All coefficients are whole numbers, and so are the values CP-SAT reports.
    best = round(solver.objective_value)
    chosen = np.repeat(np.arange(len(uses)), [solver.value(use) for use in uses])
    chosen = chosen[np.argsort(patterns.group[chosen], kind="stable")]
    content = np.zeros((len(groups.group), len(scope.count)), np.int64)
    content[np.argsort(groups.group, kind="stable")] = patterns.dense(chosen, len(scope.count)).sum(axis=2)
    return Combined(best, best if status == cp_model.OPTIMAL else None, content)


def assignment_of(question: Question, scope: Scope, content: Ints) -> Indices:
    """Return node by item: settled pods at home, the others where ``content`` says.

    Parameters
    ----------
    content
        How many pods of each kind each node has, shape ``(nodes, kinds)``.
    """
    nodes = placed(scope, content)
    nodes[question.problem.tier[question.problem.kind] > question.tier] = NOWHERE
    return nodes


def placed(scope: Scope, content: Ints | Indices) -> Indices:
    """Return node by item, as many in scope at home as ``content`` lets stay, and all others there."""
    nodes = scope.problem.home.copy()
    order = np.lexsort((scope.home, scope.home < 0, scope.kind_of))
    kind, home = scope.kind_of[order], scope.home[order]
    _, first, which = np.unique(np.column_stack([kind, home]), axis=0, return_index=True, return_inverse=True)
    stay = np.minimum(content, at_home(scope))
    goes = (home < 0) | (np.arange(len(order)) - first[which] >= stay[home, kind])
    # Both in the order of kinds: who needs a place, and where there is one.
    places = (content - stay).T
    number = places.sum(axis=1)
    to = np.append(np.repeat(np.nonzero(places)[1], places[places > 0]), NOWHERE)
    kind = kind[goes]
    rank = np.arange(len(kind)) - np.searchsorted(kind, kind)
    at = np.where(rank < number[kind], (np.cumsum(number) - number)[kind] + rank, len(to) - 1)
    nodes[scope.items[order[goes]]] = to[at]
    return nodes
