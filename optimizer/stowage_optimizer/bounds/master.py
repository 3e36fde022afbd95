"""The master problem: how often each known pattern is used. Its duals are the prices to try next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stowage_optimizer.bounds.groups import Groups
from stowage_optimizer.bounds.highs import DUAL, PRIMAL, Entries, LinearProgram
from stowage_optimizer.bounds.phase import SCALE, Duals, Floats, Phase
from stowage_optimizer.bounds.scope import Linear, Scope
from stowage_optimizer.model.problem import Indices, Ints

PENALTY, MORE_PENALTY, MOST_PENALTY = 100.0, 8.0, 2048.0
"""Cost of a missing unit of a requirement, until patterns that meet it are found. No
price of a requirement is higher, so that it grows while any is missing."""

MISSING_POD = 16.0
"""Cost of a pod without a node where each needs one, in the dearest nodes."""

MISSING = 1e-6
"""Less of a unit is not missing."""

NEGLIGIBLE = 1e-6
"""A pattern that is worth so little more than its prices brings nothing."""


@dataclass(frozen=True, slots=True)
class Patterns:
    """Patterns, by the kinds that they have.

    Parameters
    ----------
    group
        Of each pattern, shape ``(patterns,)``.
    at, kind, stays, placed
        Pattern and kind, and how many pods of that kind stay and are there in all,
        shape ``(entries,)``.
    """

    group: Ints
    at: Ints
    kind: Ints
    stays: Ints
    placed: Ints

    @classmethod
    def of(cls, group: Ints, patterns: Indices) -> Patterns:
        """Return patterns of shape ``(n, kinds, 2)`` of the groups of shape ``(n,)``."""
        placed = patterns.sum(axis=2, dtype=np.int64)
        at, kind = np.nonzero(placed)
        return cls(group, at, kind, patterns[at, kind, 0].astype(np.int64), placed[at, kind])

    def __len__(self) -> int:
        return len(self.group)

    def total(self, placed: Floats | Ints, stays: Floats | Ints) -> Floats:
        """Return the pods of each pattern, weighted by kind, as one sum."""
        each = placed[self.kind] * self.placed + stays[self.kind] * self.stays
        total: Floats = np.bincount(self.at, each, len(self.group)).astype(float)
        return total

    def some(self, chosen: Ints) -> Patterns:
        """Return the ``chosen`` ones, none of which is named twice."""
        number = np.full(len(self), -1)
        number[chosen] = np.arange(len(chosen))
        at = number[self.at]
        has = at >= 0
        return Patterns(self.group[chosen], at[has], self.kind[has], self.stays[has], self.placed[has])

    def dense(self, chosen: Ints, kinds: int) -> Indices:
        """Return some of them as shape ``(chosen, kinds, 2)``."""
        different, which = np.unique(chosen, return_inverse=True)
        some = self.some(different)
        patterns = np.zeros((len(different), kinds, 2), np.int32)
        patterns[some.at, some.kind, 0] = some.stays
        patterns[some.at, some.kind, 1] = some.placed - some.stays
        return patterns[which]


class Rows:
    """The rows of master problems.

    They are, in this order, pods of each kind, nodes of each group, running pods of
    kinds of which only some run, and requirements. Columns are patterns, and how many
    running pods of these `mixed` kinds have a node.
    """

    def __init__(self, scope: Scope, groups: Groups) -> None:
        self.scope, self.groups = scope, groups
        # If all pods of a kind run, every placed one is a running pod.
        self._all_run = scope.running == scope.count
        self.mixed = np.flatnonzero((scope.running > 0) & ~self._all_run)
        self.run = len(scope.count) + len(groups.size)
        self.need = self.run + len(self.mixed)

    def limits(self) -> tuple[Floats, Floats]:
        """Return the least and the most of each row."""
        scope = self.scope
        constants = [float(one.constant) for one in scope.requirements]
        low = np.array([-np.inf] * self.need + constants)
        high = np.concatenate(
            [scope.count, self.groups.size, np.zeros(len(self.mixed)), np.full(len(constants), np.inf)]
        )
        if scope.all_needed:
            low[: len(scope.count)], high[: len(scope.count)] = scope.count, np.inf
        return low, high

    def total(self, one: Linear, patterns: Patterns) -> Floats:
        """Return what each pattern adds to ``one``, but for running pods of mixed kinds."""
        running = np.where(self._all_run, one.running, 0)
        return patterns.total(one.placed + running, one.stays)

    def of_patterns(self, patterns: Patterns, first: int = 0) -> list[Entries]:
        """Return what patterns have in the rows, as columns from the ``first`` on."""
        every, at, kinds = first + np.arange(len(patterns)), first + patterns.at, len(self.scope.count)
        amount, row_of = patterns.placed.astype(float), np.full(kinds, -1)
        row_of[self.mixed] = self.run + np.arange(len(self.mixed))
        mixed = row_of[patterns.kind] >= 0
        return [
            Entries(patterns.kind, at, amount),
            Entries(kinds + patterns.group, every, np.ones(len(patterns))),
            Entries(row_of[patterns.kind[mixed]], at[mixed], -amount[mixed]),
            *self._of_needs([self.total(one, patterns) for one in self.scope.requirements], first),
        ]

    def of_running(self) -> list[Entries]:
        """Return what the running pods of mixed kinds have in the rows, as the first columns."""
        own = np.arange(len(self.mixed))
        weights = [one.running[self.mixed].astype(float) for one in self.scope.requirements]
        return [Entries(self.run + own, own, np.ones(len(own))), *self._of_needs(weights, 0)]

    def _of_needs(self, weights: list[Floats], first: int) -> list[Entries]:
        some = [(row, np.flatnonzero(each), each) for row, each in enumerate(weights, self.need)]
        return [Entries(np.full(len(has), row), first + has, each[has]) for row, has, each in some]


@dataclass(frozen=True, slots=True)
class Solved:
    """The optimum of the program.

    Parameters
    ----------
    value
        What is maximised, less what nodes cost.
    used
        How often each pattern is, shape ``(patterns,)``.
    """

    value: float
    duals: Duals
    used: Floats


class Master:
    """The linear program; patterns are added, never removed.

    Where pods may be without a node, the first pattern of each group is empty, so that
    every node has one. The columns are what is missing of each requirement, or of each
    kind where all pods are needed; running pods of mixed kinds; and patterns.

    Parameters
    ----------
    scope
        With all requirements that any objective comes with.
    """

    def __init__(self, scope: Scope, groups: Groups) -> None:
        self.rows, self._scope, self._groups, self._aim = Rows(scope, groups), scope, groups, scope
        self._parts: list[Patterns] = []
        self._dual: Floats | None = None
        self._penalty = PENALTY
        self.growing = False
        """Whether the next solve is of another program, whose prices may be higher."""
        self._program = LinearProgram(*self.rows.limits(), presolve="off", simplex_strategy=PRIMAL)
        missing = self.rows.need + np.arange(len(scope.requirements))
        if scope.all_needed:
            missing, self._penalty = np.arange(len(scope.count)), MISSING_POD * max(SCALE, groups.cost.max()) / SCALE
        number = self._missing = len(missing)
        entries = [Entries(missing, np.arange(number), np.ones(number))]
        self._program.add_columns(np.full(number, self._penalty), np.full(number, np.inf), entries)
        mixed = self.rows.mixed
        self._program.add_columns(
            -scope.objective.running[mixed].astype(float), scope.running[mixed].astype(float), self.rows.of_running()
        )
        every = np.arange(len(groups.size))
        self.add(every, np.zeros((0 if scope.all_needed else len(every), len(scope.count), 2), np.int32))

    def aim(self, scope: Scope) -> None:
        """Maximise what ``scope`` does, under its requirements."""
        if scope is self._aim:
            return
        # What was solved last was another program.
        self._aim, self._dual = scope, None
        running = -scope.objective.running[self.rows.mixed]
        self._program.change_costs(
            np.concatenate([np.full(self._missing, self._penalty), running, self._cost(self.patterns)])
        )
        least = np.full(len(self._scope.requirements), -np.inf)
        least[self._asked()] = [one.constant for one in scope.requirements]
        self._program.change_rows(least, np.full(len(least), np.inf), self.rows.need)

    def need(self, count: Ints, size: Ints) -> None:
        """Need so many pods of each kind only, and have so many nodes of each group."""
        every = np.array_equal(count, self._scope.count) and np.array_equal(size, self._groups.size)
        self._program.prefer(simplex_strategy=PRIMAL if every else DUAL)
        low, high = np.full(self.rows.run, -np.inf), np.full(self.rows.run, np.inf)
        low[: len(count)], high[len(count) :] = count, size
        self._program.change_rows(low, high)

    def add_missing(self, group: Ints, patterns: Indices) -> bool:
        """Add what the last solution lacks of these; return whether there is anything.

        No pattern that the program has is worth more than its prices. Before it is
        solved it lacks all.
        """
        lacks = np.arange(len(group))
        if self._dual is not None:
            lacks = np.flatnonzero(self._reduced_cost(self._dual, Patterns.of(group, patterns)) > NEGLIGIBLE)
        different: dict[tuple[int, bytes], int] = {}
        for number in lacks.tolist():
            different.setdefault((int(group[number]), patterns[number].tobytes()), number)
        new = np.array(list(different.values()), np.int64)
        self.add(group[new], patterns[new])
        return len(new) > 0

    def add(self, group: Ints, patterns: Indices) -> None:
        """Add patterns, shape ``(n, kinds, 2)``, of the groups of shape ``(n,)``."""
        new = Patterns.of(group[: len(patterns)], patterns)
        self._parts.append(new)
        self._program.add_columns(self._cost(new), np.full(len(new), np.inf), self.rows.of_patterns(new))

    @property
    def patterns(self) -> Patterns:
        """All patterns, in the order in which they were added."""
        if len(self._parts) > 1:
            self._parts = [_joined(self._parts)]
        return self._parts[0]

    def like(self, scope: Scope, groups: Groups) -> bool:
        """Return whether this is the program of ``scope`` too, but for constants."""
        mine, own = self._scope, self._groups
        return (
            np.array_equal(mine.items, scope.items)
            and _names(mine) == _names(scope)
            and np.array_equal(own.group, groups.group)
            and np.array_equal(own.come, groups.come)
            and np.array_equal(own.room, groups.room)
        )

    def solve(self, limit_s: float) -> Solved | None:
        """Return the optimum; None if it was not found in time."""
        found = self._program.minimum(limit_s)
        if found is None:
            return None
        self._dual = dual = -found.dual
        kinds, need = len(self._scope.count), self.rows.need
        run = np.zeros(kinds)
        run[self.rows.mixed] = dual[self.rows.run : need]
        if not self._scope.all_needed:
            self._raise_penalty(found.column[: self._missing])
        duals = Duals(dual[:kinds], run, -dual[need:][self._asked()])
        return Solved(-found.value, duals, found.column[len(found.column) - len(self.patterns) :])

    def _asked(self) -> list[int]:
        """Return which of all requirements are those of the aim, in its order."""
        numbers = {name: number for number, name in enumerate(_names(self._scope))}
        return [numbers[name] for name in _names(self._aim)]

    def _cost(self, patterns: Patterns) -> Floats:
        return self._groups.cost[patterns.group] / SCALE - self.rows.total(self._aim.objective, patterns)

    def _reduced_cost(self, dual: Floats, patterns: Patterns) -> Floats:
        """Return what each pattern is worth beyond the prices of its rows."""
        scope, rows = self._scope, self.rows
        price = dual[: len(scope.count)].copy()
        price[rows.mixed] -= dual[rows.run : rows.need]
        worth = -self._cost(patterns) - patterns.total(price, np.zeros(len(price)))
        for one, each in zip(scope.requirements, dual[rows.need :], strict=True):
            if each:
                worth -= each * rows.total(one, patterns)
        worth -= dual[len(scope.count) :][patterns.group]
        return worth

    def _raise_penalty(self, missing: Floats) -> None:
        """Have what is missing cost more at the next solve, where anything is."""
        anything = bool((missing > MISSING).any())
        self.growing = anything and self._penalty < MOST_PENALTY
        if self.growing:
            self._penalty = min(MOST_PENALTY, MORE_PENALTY * self._penalty)
            self._program.change_costs(np.full(len(missing), self._penalty))


def _joined(parts: list[Patterns]) -> Patterns:
    before = np.cumsum([0, *map(len, parts[:-1])])
    at = [one.at + first for one, first in zip(parts, before, strict=True)]
    return Patterns(
        np.concatenate([one.group for one in parts]),
        np.concatenate(at),
        np.concatenate([one.kind for one in parts]),
        np.concatenate([one.stays for one in parts]),
        np.concatenate([one.placed for one in parts]),
    )


def _names(scope: Scope) -> list[tuple[Phase, int]]:
    return [(one.phase, one.tier) for one in scope.requirements]
