"""Better assignments by integer programs over known patterns.

All nodes keep their pattern but some: first those at which the linear program differs
from the assignment, or at which a pattern is known that is worth more at its prices;
then fewer of them, with others beside. There the patterns are chosen anew (a large
neighbourhood search, Shaw 1998).
"""

from __future__ import annotations

import numpy as np

from stowage_optimizer.bounds.highs import LinearProgram
from stowage_optimizer.bounds.phase import SCALE, Floats
from stowage_optimizer.bounds.set_packing import assignment_of
from stowage_optimizer.bounds.tier_program import NEAR, TierProgram
from stowage_optimizer.model.problem import Indices, Ints

MOST_FIRST, FEWEST = 500, 100
"""Nodes that are chosen anew, at first and later."""

FAILURES, GROWTH = 4, 1.5
"""After so many vain tries with as many nodes come so many times more."""

OF_GROUP = 40
"""Patterns of a group to choose from, besides those in use."""

LONGEST_S = 3.0
"""Longest time for one choice."""

LOOKING_SHARE = 0.3
"""Share of the time for the linear program, at the first neighbourhood."""

SEARCH_NODES = 200
"""The same in nodes of the search tree, where time must not matter."""

IN_USE = 1e-6
"""The linear program uses a pattern no less often."""

A_MOVE = 2.0
"""What a pod that stays is worth: as much to gain at a node is enough for the best
chance."""

NOISE = 0.2
"""How much of a node's chance does not depend on what is to be gained there."""


class Neighbourhoods:
    """Chooses patterns for a tier, one neighbourhood after another.

    Parameters
    ----------
    seed
        Of the nodes that are drawn.
    """

    def __init__(self, program: TierProgram, seed: int) -> None:
        self.program = program
        self._draw = np.random.default_rng(seed)
        self._exhausted = self._failures = 0
        self._first, self._size = True, FEWEST

    @property
    def finished(self) -> bool:
        """Whether all nodes were tried at once, and no pattern was found since."""
        return len(self.program.master.patterns) <= self._exhausted

    def improve(self, placed: Ints, limit_s: float, *, deterministic: bool = False) -> Indices | None:
        """Return a better assignment, node by item; None if none was found.

        It is worth more by the weighted sum, and no less in any requirement. On
        overcommitted nodes it may not be feasible.

        Parameters
        ----------
        placed
            Node by item, negative for none, shape ``(items,)``.
        deterministic
            Whether time must not matter.
        """
        choice = _Choice(self.program, self.program.know(placed))
        bound = self.program.bound
        if bound is not None and bound <= (choice.value + NEAR) * SCALE:
            self._finish()
            return None
        limit_s = limit_s if deterministic else min(limit_s, LONGEST_S)
        if self._first:
            self.program.look_again(limit_s if deterministic else LOOKING_SHARE * limit_s)
        nodes = self._picked(choice)
        self._first = False
        held = choice.improved(nodes, self.program.used, limit_s, deterministic=deterministic)
        if held is None:
            self._fail(len(nodes))
            return None
        self._failures = 0
        patterns, scope = self.program.master.patterns, self.program.scope
        content = patterns.dense(held, len(scope.kinds)).sum(axis=2, dtype=np.int64)
        return assignment_of(self.program.question, scope, content)

    def _picked(self, choice: _Choice) -> Ints:
        """Return the nodes that are chosen anew now, where most is to be gained."""
        patterns, group = self.program.master.patterns, self.program.groups.group
        held, uses = choice.held, choice.uses[choice.held]
        lacking = np.maximum(0, uses - self.program.used[held]) / uses
        worth = choice.worth
        best = np.zeros(len(self.program.groups.size))
        np.maximum.at(best, patterns.group, worth)
        gain = np.maximum(lacking, np.minimum(1, (best[group] - worth[held]) / A_MOVE))
        if self._first:
            differing = int((lacking > IN_USE).sum())
            return _largest(gain, min(MOST_FIRST, max(FEWEST, differing)))
        chance = (gain + NOISE) * (NOISE + self._draw.random(len(held)))
        return _largest(chance, self._size)

    def _fail(self, tried: int) -> None:
        self._failures += 1
        every = len(self.program.groups.group)
        if tried >= every:
            self._finish()
        elif self._failures >= FAILURES:
            self._size, self._failures = min(every, int(GROWTH * self._size)), 0

    def _finish(self) -> None:
        self._exhausted = len(self.program.master.patterns)
        self._first, self._size, self._failures = True, FEWEST, 0


def _largest(values: Floats, number: int) -> Ints:
    return np.argsort(-values, kind="stable")[:number]


class _Choice:
    """The patterns that nodes hold in an assignment, what it is worth, and what some may hold instead."""

    def __init__(self, program: TierProgram, held: Ints) -> None:
        self._program, self.held = program, held
        self._patterns = patterns = program.master.patterns
        self.uses = np.bincount(held, minlength=len(patterns))
        self._rows = program.master.rows
        self._sums = [
            (self._rows.total(one, patterns), one.running[self._rows.mixed])
            for one in (program.sum.scope.objective, *program.scope.requirements)
        ]
        self._now = self._reached()
        self.value = float(self._now[0])
        self.worth = program.worth()

    def improved(self, nodes: Ints, used: Floats, limit_s: float, *, deterministic: bool) -> Ints | None:
        """Return patterns by node that are better; other ones for ``nodes`` only."""
        columns = self._columns(nodes, used)
        fixed = self.uses - np.bincount(self.held[nodes], minlength=len(self.uses))
        start = np.concatenate([self._running(self.uses), (self.uses - fixed)[columns]]).astype(float)
        mixed = len(self._rows.mixed)
        found = self._written(columns, nodes, fixed).better_whole(
            start, mixed + np.arange(len(columns)), limit_s, SEARCH_NODES if deterministic else None
        )
        if found is None:
            return None
        times = np.rint(found[mixed:]).astype(np.int64)
        return self._shared_out(nodes, np.repeat(columns, times))

    def _columns(self, nodes: Ints, used: Floats) -> Ints:
        """Return the patterns to choose from."""
        group = self._patterns.group
        asked = np.zeros(len(self._program.groups.size), bool)
        asked[self._program.groups.group[nodes]] = True
        mine = np.flatnonzero(asked[group])
        mine = mine[np.lexsort((-self.worth[mine], group[mine]))]
        first = np.searchsorted(group[mine], group[mine])
        near_best = mine[np.arange(len(mine)) - first < OF_GROUP]
        # The first pattern of a group is the empty one.
        empty = np.flatnonzero(asked)
        in_use = mine[used[mine] > IN_USE]
        return np.unique(np.concatenate([near_best, empty, in_use, self.held[nodes]]))

    def _reached(self) -> Floats:
        """Return what the assignment has of the sum and of each requirement."""
        running = self._running(self.uses)
        return np.array([self.uses @ each + own @ running for each, own in self._sums])

    def _placed(self, uses: Ints) -> Ints:
        """Return the pods of each kind that patterns have in all."""
        kinds, patterns = len(self._program.scope.count), self._patterns
        each = uses[patterns.at] * patterns.placed
        return np.bincount(patterns.kind, each, kinds).astype(np.int64)

    def _running(self, uses: Ints) -> Ints:
        """Return how many running pods of mixed kinds have a node."""
        mixed = self._rows.mixed
        return np.minimum(self._program.scope.running[mixed], self._placed(uses)[mixed])

    def _written(self, columns: Ints, nodes: Ints, fixed: Ints) -> LinearProgram:
        """Return the program: running pods of mixed kinds, and how often each pattern is, beside those fixed."""
        scope, rows, groups = self._program.scope, self._rows, self._program.groups
        some, placed = self._patterns.some(columns), self._placed(fixed)
        sizes = np.bincount(groups.group[nodes], minlength=len(groups.size))
        low, high = rows.limits()
        high[: rows.need] = np.concatenate([scope.count - placed, sizes, placed[rows.mixed]])
        low[rows.need :] = self._now[1:] - [fixed @ each for each, _ in self._sums[1:]]
        each, running = self._sums[0]
        program = LinearProgram(low, high)
        program.add_columns(
            -np.concatenate([running, each[columns]]),
            np.concatenate([scope.running[rows.mixed], sizes[some.group]]).astype(float),
            [*rows.of_running(), *rows.of_patterns(some, len(rows.mixed))],
        )
        return program

    def _shared_out(self, nodes: Ints, patterns: Ints) -> Ints:
        """Return the patterns by node; one that may keep its own does."""
        held, group = self.held.copy(), self._program.groups.group
        left: dict[int, list[int]] = {}
        for pattern in patterns.tolist():
            left.setdefault(int(self._patterns.group[pattern]), []).append(pattern)
        others = []
        for node in nodes.tolist():
            own = left.get(int(group[node]), [])
            if held[node] in own:
                own.remove(int(held[node]))
            else:
                others.append(node)
        for node in others:
            own = left.get(int(group[node]), [])
            held[node] = own.pop() if own else group[node]
        return held
