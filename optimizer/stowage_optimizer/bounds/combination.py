"""Which patterns go together: a set packing problem for CP-SAT."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from stowage_optimizer.bounds.groups import Groups, at_home
from stowage_optimizer.bounds.question import Phase, Question
from stowage_optimizer.bounds.scope import Linear, Scope
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
    limit
        No combination is worth more; None where that is not known.
    """

    value: int | None
    limit: int | None


class Combination:
    """One pattern for each node, such that the pods suffice.

    Parameters
    ----------
    patterns
        Those to choose from, of each group: shape ``(any, kinds, 2)``.
    target
        What the objective must reach, without its constant.
    """

    def __init__(self, scope: Scope, groups: Groups, patterns: list[Indices], target: int) -> None:
        self._cp, self._patterns = cp_model.CpModel(), patterns
        self._uses: list[list[Any]] = []
        for size, listed in zip(groups.size, patterns, strict=True):
            uses = [self._cp.new_int_var(0, int(size), "") for _ in listed]
            # Every node holds one of them, if only the empty one.
            self._cp.add(cp_model.LinearExpr.sum(uses) == int(size))
            self._uses.append(uses)
        every = [use for uses in self._uses for use in uses]
        content = np.concatenate(patterns).astype(np.int64)
        stays, placed = content[:, :, 0], content.sum(axis=2)
        for kind, most in enumerate(scope.count):
            self._cp.add(_dot(placed[:, kind], every) <= int(most))
        running = self._running(scope, placed, every)
        self._goal = self._total(scope.objective, placed, stays, running, every)
        for row in scope.requirements:
            total = self._total(row, placed, stays, running, every)
            self._cp.add(total >= row.constant)
        self._cp.add(self._goal >= target)
        self._cp.maximize(self._goal)
        self._solver = cp_model.CpSolver()
        self._target = target

    def solve(self, limit_s: float, steps: float | None) -> Combined:
        """Return the best value found, and the limit that is proved.

        Parameters
        ----------
        limit_s
            Seconds to take at most.
        steps
            CP-SAT's own limit in its steps, where work is counted.
        """
        parameters = self._solver.parameters
        parameters.num_workers = 1
        # The rows are tight as they stand; probing them took most of the time.
        parameters.cp_model_presolve = False
        parameters.max_time_in_seconds = max(0.001, limit_s)
        if steps is not None:
            parameters.max_deterministic_time = steps
        status = self._solver.solve(self._cp)
        if status == cp_model.INFEASIBLE:
            return Combined(None, self._target - 1)
        if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
            return Combined(None, None)
        # All coefficients are whole numbers, and so are the values CP-SAT reports.
        value = round(self._solver.objective_value)
        if status == cp_model.OPTIMAL:
            return Combined(value, value)
        return Combined(value, None)

    def content(self, groups: Groups) -> Ints:
        """Return how many pods of each kind each node has, shape ``(nodes, kinds)``."""
        chosen = [
            [listed[at].sum(axis=1) for at, use in enumerate(uses) for _ in range(self._solver.value(use))]
            for uses, listed in zip(self._uses, self._patterns, strict=True)
        ]
        return np.array([chosen[group].pop() for group in groups.group], np.int64)

    def _running(self, scope: Scope, placed: Ints, every: list[Any]) -> list[Any]:
        """Return, by kind, how many of the running pods have a node."""
        counts = []
        for kind, most in enumerate(scope.running):
            count = self._cp.new_int_var(0, int(most), "")
            self._cp.add(count <= _dot(placed[:, kind], every))
            counts.append(count)
        return counts

    @staticmethod
    def _total(row: Linear, placed: Ints, stays: Ints, running: list[Any], every: list[Any]) -> Any:
        return _dot(placed @ row.placed + stays @ row.stays, every) + _dot(row.running, running)


def _dot(weights: Ints, variables: Sequence[Any]) -> Any:
    return cp_model.LinearExpr.weighted_sum(list(variables), weights.tolist())


def assignment_of(question: Question, scope: Scope, content: Ints) -> Indices:
    """Return node by item: settled pods at home, the others where ``content`` says.

    Parameters
    ----------
    content
        How many pods of each kind each node has, shape ``(nodes, kinds)``.
    """
    problem = question.problem
    nodes = problem.home.copy()
    tier = problem.tier[problem.kind]
    nodes[tier > question.tier] = NOWHERE
    nodes[scope.items] = NOWHERE
    home = at_home(scope)
    room = content.copy()
    for kind in range(len(scope.kinds)):
        members = scope.items[scope.kind_of == kind]
        stays = np.minimum(room[:, kind], home[:, kind])
        waiting = []
        for item in sorted(members, key=lambda item: problem.home[item] < 0):
            at = int(problem.home[item])
            if at >= 0 and stays[at] > 0:
                nodes[item] = at
                stays[at] -= 1
                room[at, kind] -= 1
            else:
                waiting.append(item)
        free = np.repeat(np.arange(len(room)), np.maximum(room[:, kind], 0))
        for item, at in zip(waiting, free.tolist(), strict=False):
            nodes[item] = at
    return nodes
