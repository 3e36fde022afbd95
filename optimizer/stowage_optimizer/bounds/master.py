"""The linear program over patterns: its duals are the prices to try next."""

from dataclasses import dataclass

import highspy
import numpy as np

from stowage_optimizer.bounds.groups import Groups
from stowage_optimizer.bounds.highs import Entries, by_column, quiet_solver, solved
from stowage_optimizer.bounds.question import Duals, Floats, Phase
from stowage_optimizer.bounds.scope import Linear, Scope
from stowage_optimizer.model.problem import Indices, Ints

PENALTY, MORE_PENALTY, MOST_PENALTY = 100.0, 8.0, 2048.0
"""Cost of a missing unit of a requirement, until patterns that meet it are found. No
price of a requirement is higher, so that it grows while any is missing."""

MISSING = 1e-6
"""Less of a unit is not missing."""

NEGLIGIBLE = 1e-6
"""A pattern that is worth so little more than its prices brings nothing."""

PRIMAL = 4
"""HiGHS's number of the simplex that goes on when columns are added."""


@dataclass(frozen=True, slots=True)
class Contents:
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

    def __len__(self) -> int:
        return len(self.group)

    def total(self, placed: Floats | Ints, stays: Floats | Ints) -> Floats:
        """Return the pods of each pattern, weighted by kind, as one sum."""
        each = placed[self.kind] * self.placed + stays[self.kind] * self.stays
        total: Floats = np.bincount(self.at, each, len(self.group)).astype(float)
        return total

    def dense(self, chosen: Ints, kinds: int) -> Indices:
        """Return some of them as shape ``(chosen, kinds, 2)``."""
        different, which = np.unique(chosen, return_inverse=True)
        number = np.full(len(self), -1)
        number[different] = np.arange(len(different))
        at = number[self.at]
        has = at >= 0
        patterns = np.zeros((len(different), kinds, 2), np.int32)
        at, kind, stays = at[has], self.kind[has], self.stays[has]
        patterns[at, kind, 0] = stays
        patterns[at, kind, 1] = self.placed[has] - stays
        return patterns[which]


@dataclass(frozen=True, slots=True)
class Solved:
    """The optimum of the program.

    Parameters
    ----------
    used
        How often each pattern is, shape ``(patterns,)``.
    """

    value: float
    duals: Duals
    used: Floats


class Master:
    """The linear program; patterns are added, never removed.

    The first pattern of each group is empty, so that every node has one. The rows are,
    in this order, pods of each kind, nodes of each group, running pods of kinds of
    which only some run, and requirements; the columns what is missing of each
    requirement, running pods that have a node, and patterns.

    Parameters
    ----------
    scope
        With all requirements that any objective comes with.
    """

    def __init__(self, scope: Scope, groups: Groups) -> None:
        self._scope, self._groups, self._aim = scope, groups, scope
        # If all pods of a kind run, every placed one is a running pod.
        self._all_run = scope.running == scope.count
        self._mixed = np.flatnonzero((scope.running > 0) & ~self._all_run)
        self._parts: list[Contents] = []
        self._dual: Floats | None = None
        self._penalty = PENALTY
        self.growing = False
        """Whether the next solve is of another program, whose prices may be higher."""
        self._solver = quiet_solver(presolve="off", simplex_strategy=PRIMAL)
        self._solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
        self._add_rows()
        self._add_missing_and_running()
        every = np.arange(len(groups.size))
        self.add(every, np.zeros((len(every), len(scope.count), 2), np.int32))

    def aim(self, scope: Scope) -> None:
        """Maximise what ``scope`` does, under its requirements."""
        if scope is self._aim:
            return
        # What was solved last was another program.
        self._aim, self._dual = scope, None
        needs, objective = len(self._scope.requirements), scope.objective
        cost = np.concatenate([np.full(needs, -self._penalty), objective.running[self._mixed], self.total(objective)])
        columns = np.arange(len(cost), dtype=np.int32)
        self._solver.changeColsCost(len(cost), columns, cost)
        least = np.full(needs, -np.inf)
        least[self._asked()] = [one.constant for one in scope.requirements]
        for row, each in enumerate(least.tolist(), self._first_need):
            self._solver.changeRowBounds(row, each, np.inf)

    def add_missing(self, group: Ints, patterns: Indices) -> bool:
        """Add what the last solution lacks of these; return whether there is anything.

        No pattern that the program has is worth more than its prices. Before it is
        solved it lacks all.
        """
        contents = _contents(group, patterns)
        if self._dual is not None:
            lacks = self._reduced_cost(self._dual, contents) > NEGLIGIBLE
            contents = _contents(group[lacks], patterns[lacks])
        self._add(contents)
        return len(contents.group) > 0

    def add(self, group: Ints, patterns: Indices) -> None:
        """Add patterns, shape ``(n, kinds, 2)``, of the groups of shape ``(n,)``."""
        self._add(_contents(group, patterns))

    @property
    def contents(self) -> Contents:
        """All patterns, in the order in which they were added."""
        if len(self._parts) > 1:
            self._parts = [_joined(self._parts)]
        return self._parts[0]

    def total(self, one: Linear) -> Floats:
        """Return what each pattern adds to ``one``, but for `mixed` running pods."""
        return self._total(one, self.contents)

    @property
    def mixed(self) -> Ints:
        """Kinds of which only some pods run."""
        return self._mixed

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
        if not solved(self._solver, limit_s):
            return None
        solution = self._solver.getSolution()
        self._dual = dual = np.array(solution.row_dual)
        kinds, need = len(self._scope.count), self._first_need
        run = np.zeros(kinds)
        run[self._mixed] = dual[need - len(self._mixed) : need]
        value = self._solver.getInfo().objective_function_value
        columns = np.array(solution.col_value)
        self._raise_penalty(columns[: len(self._scope.requirements)])
        duals = Duals(dual[:kinds], run, -dual[need:][self._asked()])
        return Solved(value, duals, columns[len(columns) - len(self.contents) :])

    @property
    def _first_need(self) -> int:
        """Row of the first requirement."""
        return len(self._scope.count) + len(self._groups.size) + len(self._mixed)

    def _asked(self) -> list[int]:
        """Return which of all requirements are those of the aim, in its order."""
        numbers = {name: number for number, name in enumerate(_names(self._scope))}
        return [numbers[name] for name in _names(self._aim)]

    def _total(self, one: Linear, contents: Contents) -> Floats:
        """Return what each pattern adds to ``one``, but for running pods apart."""
        running = np.where(self._all_run, one.running, 0)
        return contents.total(one.placed + running, one.stays)

    def _reduced_cost(self, dual: Floats, contents: Contents) -> Floats:
        """Return what each pattern is worth beyond the prices of its rows."""
        scope, need = self._scope, self._first_need
        price = dual[: len(scope.count)].copy()
        price[self._mixed] -= dual[need - len(self._mixed) : need]
        worth = self._total(self._aim.objective, contents)
        worth -= contents.total(price, np.zeros(len(price)))
        for one, each in zip(scope.requirements, dual[need:], strict=True):
            if each:
                worth -= each * self._total(one, contents)
        worth -= dual[len(scope.count) :][contents.group]
        return worth

    def _raise_penalty(self, missing: Floats) -> None:
        """Have what is missing cost more at the next solve, where anything is."""
        anything = bool((missing > MISSING).any())
        self.growing = anything and self._penalty < MOST_PENALTY
        if self.growing:
            self._penalty = min(MOST_PENALTY, MORE_PENALTY * self._penalty)
            for column in range(len(missing)):
                self._solver.changeColCost(column, -self._penalty)

    def _add(self, contents: Contents) -> None:
        number = len(contents.group)
        if not number:
            return
        self._parts.append(contents)
        kinds = len(self._scope.count)
        row_of = np.full(kinds, -1)
        row_of[self._mixed] = self._first_need - len(self._mixed) + self._numbers
        mixed = row_of[contents.kind] >= 0
        amount, every = contents.placed.astype(float), np.arange(number)
        entries = [
            Entries(contents.kind, contents.at, amount),
            Entries(kinds + contents.group, every, np.ones(number)),
            Entries(row_of[contents.kind[mixed]], contents.at[mixed], -amount[mixed]),
        ]
        for row, one in enumerate(self._scope.requirements, self._first_need):
            total = self._total(one, contents)
            has = np.flatnonzero(total)
            entries.append(Entries(np.full(len(has), row), has, total[has]))
        cost = self._total(self._aim.objective, contents)
        self._add_columns(cost, np.full(number, np.inf), entries)

    def _add_rows(self) -> None:
        scope, need = self._scope, self._first_need
        constants = [float(one.constant) for one in scope.requirements]
        low = np.array([-np.inf] * need + constants)
        high = np.concatenate(
            [scope.count, self._groups.size, np.zeros(len(self._mixed)), np.full(len(constants), np.inf)]
        )
        nothing = np.zeros(len(low), np.int32)
        self._solver.addRows(len(low), low, high, 0, nothing, nothing[:0], low[:0])

    def _add_missing_and_running(self) -> None:
        scope, first, mixed = self._scope, self._first_need, self._mixed
        needs = np.arange(len(scope.requirements))
        self._add_columns(
            np.full(len(needs), -self._penalty),
            np.full(len(needs), np.inf),
            [Entries(first + needs, needs, np.ones(len(needs)))],
        )
        own = first - len(mixed) + self._numbers
        entries = [Entries(own, self._numbers, np.ones(len(mixed)))]
        for row, one in enumerate(scope.requirements, first):
            weight = one.running[mixed].astype(float)
            has = np.flatnonzero(weight)
            entries.append(Entries(np.full(len(has), row), has, weight[has]))
        self._add_columns(scope.objective.running[mixed].astype(float), scope.running[mixed].astype(float), entries)

    @property
    def _numbers(self) -> Ints:
        return np.arange(len(self._mixed))

    def _add_columns(self, cost: Floats, upper: Floats, entries: list[Entries]) -> None:
        if not len(cost):
            return
        starts, rows, values = by_column(entries, len(cost))
        self._solver.addCols(
            len(cost), cost, np.zeros(len(cost)), upper, len(rows), starts[:-1], rows,
            values,
        )  # fmt: skip


def _contents(group: Ints, patterns: Indices) -> Contents:
    placed = patterns.sum(axis=2, dtype=np.int64)
    at, kind = np.nonzero(placed)
    stays = patterns[at, kind, 0].astype(np.int64)
    return Contents(group, at, kind, stays, placed[at, kind])


def _joined(parts: list[Contents]) -> Contents:
    before = np.cumsum([0, *map(len, parts[:-1])])
    at = [one.at + first for one, first in zip(parts, before, strict=True)]
    return Contents(
        np.concatenate([one.group for one in parts]),
        np.concatenate(at),
        np.concatenate([one.kind for one in parts]),
        np.concatenate([one.stays for one in parts]),
        np.concatenate([one.placed for one in parts]),
    )


def _names(scope: Scope) -> list[tuple[Phase, int]]:
    return [(one.phase, one.tier) for one in scope.requirements]
