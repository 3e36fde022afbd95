"""Closing a gap: list every node content that could still help, and combine them.

At prices that prove the bound L, an assignment worth V loses at most L - V over all
nodes. So every node of a better assignment holds a pattern that is worth at most so
much less than the best one there. If these are few, which of them go together is a
small exact problem; if none do, nothing better exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from optimizer.bounds.bound import Bound
from optimizer.bounds.groups import Groups, at_home, make_groups
from optimizer.bounds.lagrangian import Evaluation, Lagrangian
from optimizer.bounds.linear import Linear
from optimizer.bounds.listing import list_patterns
from optimizer.bounds.mixes import mixes_of
from optimizer.bounds.outcome import all_placed
from optimizer.bounds.prices import SCALE, Prices
from optimizer.bounds.question import Phase, Question
from optimizer.bounds.scope import Scope, make_scope
from optimizer.model.certificate import ProofMethod
from optimizer.search.problem import NOWHERE, Indices, Ints
from optimizer.strategies.strategy import Clock

MOST_PATTERNS = 8_000
"""More patterns than this are not combined."""

MOST_OF_GROUP = 4_000
"""More patterns than this of one group are not listed."""

BUDGET = 2_000_000
"""Steps on the list of one group, some ten milliseconds."""

RESERVE = 0.9
"""Share of the time left that the combination gets."""


@dataclass(frozen=True, slots=True)
class Enumerated:
    """What the enumeration found.

    Parameters
    ----------
    bound
        The limit, exact: nothing better than it exists, and it is reached.
    nodes
        Node by item of an assignment that reaches it, negative for none; None where
        what was reached before is the best. On overcommitted nodes it may not be
        feasible, so that it must be made whole before it is used.
    """

    bound: Bound
    nodes: Indices | None


def enumeration_bound(
    question: Question,
    prices: Prices,
    reached: int,
    *,
    clock: Clock,
    deadline: float,
    workers: int = 1,
    deterministic_s: float | None = None,
) -> Enumerated | None:
    """Return whether anything beats ``reached``; None if that cannot be told in time.

    Parameters
    ----------
    question
        Of any phase.
    prices
        Of the dual bound of the same question.
    reached
        The best value known, in the phase's numbers.
    clock, deadline
        When to stop.
    workers
        Threads of CP-SAT.
    deterministic_s
        CP-SAT's own limit in its steps, where work is counted.
    """
    scope = make_scope(question)
    groups = make_groups(scope)
    if groups is None:
        return None
    exact = Lagrangian(scope, groups, lambda: clock() > deadline)
    target = _target(question, scope, reached)
    patterns = _listed(exact, exact.evaluate(prices, 0), target)
    if patterns is None or clock() > deadline:
        return None
    nothing = Enumerated(Bound(reached, ProofMethod.ENUMERATION), None)
    if not all(map(len, patterns)):
        return nothing
    model = _Combination(scope, groups, patterns, target)
    best = model.solve(RESERVE * (deadline - clock()), workers, deterministic_s)
    if best is None:
        return None
    if not best:
        return nothing
    value = best[0] + scope.objective.constant
    limit = -value if question.phase is Phase.DISTURB else value
    nodes = _assignment(question, scope, groups, model.content())
    return Enumerated(Bound(limit, ProofMethod.ENUMERATION), nodes)


def _target(question: Question, scope: Scope, reached: int) -> int:
    """Return the least sum that is better than ``reached``."""
    if question.phase is not Phase.DISTURB:
        return reached - scope.objective.constant + 1
    return -reached - scope.objective.constant + (2 if all_placed(question) else 1)


def _listed(
    exact: Lagrangian, found: Evaluation | None, target: int
) -> list[Indices] | None:
    """Return the patterns of each group that ``target`` allows; None if too many."""
    if found is None:
        return None
    gap = max(-1, found.bound - target * SCALE)
    groups, patterns, total = exact.groups, [], 0
    value, bonus = exact.values(found.prices)
    mixes = mixes_of(groups.demand.shape[1])
    buffer = np.zeros((MOST_OF_GROUP, len(exact.scope.kinds), 2), np.int32)
    for group in range(len(groups.size)):
        if exact.late():
            return None
        number = list_patterns(
            groups.demand,
            groups.room[group],
            groups.stay[group],
            groups.come[group],
            value,
            bonus,
            mixes,
            int(found.worth[group]) - gap,
            gap + 1,
            BUDGET,
            buffer,
        )
        total += number
        if number < 0 or total > MOST_PATTERNS:
            return None
        patterns.append(buffer[:number].copy())
    return patterns


class _Combination:
    """Which patterns go together: a set packing problem for CP-SAT."""

    def __init__(
        self, scope: Scope, groups: Groups, patterns: list[Indices], target: int
    ) -> None:
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

    def solve(
        self, limit_s: float, workers: int, steps: float | None
    ) -> list[int] | None:
        """Return the best value in a list, empty if there is none; None if unknown."""
        parameters = self._solver.parameters
        parameters.num_workers = workers
        parameters.max_time_in_seconds = max(0.001, limit_s)
        if steps is not None:
            parameters.max_deterministic_time = steps
        status = self._solver.solve(self._cp)
        if status == cp_model.INFEASIBLE:
            return []
        if status != cp_model.OPTIMAL:
            return None
        return [round(self._solver.objective_value)]

    def content(self) -> list[list[Indices]]:
        """Return the chosen patterns of each group, one a node."""
        return [
            [
                listed[at]
                for at, use in enumerate(uses)
                for _ in range(self._solver.value(use))
            ]
            for uses, listed in zip(self._uses, self._patterns, strict=True)
        ]

    def _running(self, scope: Scope, placed: Ints, every: list[Any]) -> list[Any]:
        """Return, by kind, how many of the running pods have a node."""
        counts = []
        for kind, most in enumerate(scope.running):
            count = self._cp.new_int_var(0, int(most), "")
            self._cp.add(count <= _dot(placed[:, kind], every))
            counts.append(count)
        return counts

    @staticmethod
    def _total(
        row: Linear, placed: Ints, stays: Ints, running: list[Any], every: list[Any]
    ) -> Any:
        return _dot(placed @ row.placed + stays @ row.stays, every) + _dot(
            row.running, running
        )


def _dot(weights: Ints, variables: Sequence[Any]) -> Any:
    return cp_model.LinearExpr.weighted_sum(list(variables), weights.tolist())


def _assignment(
    question: Question, scope: Scope, groups: Groups, content: list[list[Indices]]
) -> Indices:
    """Return node by item: settled pods at home, the others as the patterns say."""
    problem = question.problem
    nodes = problem.home.copy()
    tier = problem.tier[problem.kind]
    nodes[tier > question.tier] = NOWHERE
    nodes[scope.items] = NOWHERE
    home = at_home(scope)
    room = np.zeros((len(scope.room), len(scope.kinds)), np.int64)
    chosen = [list(patterns) for patterns in content]
    for node, group in enumerate(groups.group):
        room[node] = chosen[group].pop().sum(axis=1)
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
