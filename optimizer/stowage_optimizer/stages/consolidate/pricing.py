"""What prices of pods prove: what nodes that hold them all must cost.

A pod is worth its price. No node can hold more than the most valuable content, so that
what all pods are worth, less what nodes hold beyond their own cost, is a limit on the
cost of any assignment (Lagrange; Farley 1990). Prices are whole parts of what a
typical node costs, and the limit is computed in integers.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import highspy
import numpy as np

from stowage_optimizer.bounds.highs import Entries, Program, minimum_duals, solved, solver_of
from stowage_optimizer.bounds.pricing import best_patterns
from stowage_optimizer.bounds.question import SCALE, Floats
from stowage_optimizer.model.problem import Indices, Ints
from stowage_optimizer.stages.consolidate.fleet import Fleet

MOST_PRICE = 2.0**10
"""No pod is worth so many typical nodes."""

FILLING = 1000
"""Steps on what goes beside a content."""


@dataclass(slots=True)
class Pricing:
    """Finds the most valuable contents.

    Which dimensions of a node matter, the program over fractions of pods tells. With
    the right mix of them hardly any search for the best content is cut off.

    Parameters
    ----------
    left_s
        Returns the seconds that are left.
    """

    fleet: Fleet
    left_s: Callable[[], float]
    _cost: Ints = field(init=False)
    _at: Ints = field(init=False)
    _kind: Ints = field(init=False)
    _fractions: highspy.Highs = field(init=False)

    def __post_init__(self) -> None:
        fleet = self.fleet
        # In parts, rounded down. Products may be larger than a machine's integers.
        parts = [cost * SCALE // fleet.typical for cost in fleet.cost.tolist()]
        self._cost = np.array(parts, np.int64)
        self._at, self._kind = np.nonzero(fleet.come)
        needs = np.maximum(fleet.demand[self._kind], 1)
        fit = np.where(fleet.demand[self._kind] > 0, fleet.room[self._at] // needs, 2**31)
        upper = np.minimum(fleet.come[self._at, self._kind], fit.min(axis=1))
        self._fractions = solver_of(
            Program(
                cost=np.zeros(len(self._at)),
                upper=upper.astype(float),
                low=np.full(fleet.room.size, -np.inf),
                high=np.ones(fleet.room.size),
                entries=self._shares(0),
            ),
            presolve="off",
        )

    def starting_prices(self) -> Ints | None:
        """Return the prices of the program in which pods may be cut up; None if late.

        Its columns are pods by group, and nodes in use of each group.
        """
        fleet = self.fleet
        kinds, placed = len(fleet.count), len(self._at)
        width = fleet.room.shape[1]
        room = np.arange(fleet.room.size)
        node = Entries(kinds + room, placed + room // width, -np.ones(len(room)))
        dual = minimum_duals(
            Program(
                cost=np.concatenate([np.zeros(placed), fleet.cost / fleet.typical]),
                upper=np.concatenate([np.full(placed, np.inf), fleet.size]),
                low=np.concatenate([fleet.count, np.full(len(room), -np.inf)]),
                high=np.concatenate([np.full(kinds, np.inf), np.zeros(len(room))]),
                entries=[Entries(self._kind, np.arange(placed), np.ones(placed)), *self._shares(kinds), node],
            ),
            self.left_s(),
            # Ten times as fast as the simplex where each node is a group of its own.
            solver="ipm",
            run_crossover="off",
        )
        return None if dual is None else whole(dual[:kinds])

    def mixes(self, value: Ints) -> Floats:
        """Return how much each dimension matters, shape ``(groups, dimensions)``."""
        columns = np.arange(len(self._at), dtype=np.int32)
        self._fractions.changeColsCost(len(columns), columns, -value[self._kind] / SCALE)
        groups, width = self.fleet.room.shape
        mixes = np.zeros((groups, width))
        if solved(self._fractions, self.left_s()):
            dual = np.array(self._fractions.getSolution().row_dual)
            mixes = np.maximum(0, -dual).reshape(groups, width)
        total = mixes.sum(axis=1, keepdims=True)
        shares: Floats = np.full_like(mixes, 1 / width)
        np.divide(mixes, total, out=shares, where=total > 0)
        return shares

    def best(self, value: Ints, come: Indices, mixes: Floats, slack: int, steps: int) -> tuple[Ints, Indices]:
        """Return a limit on what a node of each group holds, and its best content.

        Parameters
        ----------
        come
            Pods of each kind to choose from, shape ``(groups, kinds)``.
        slack
            By how much a content may fall short of the best one.
        steps
            After so many on a group the best content so far is taken.
        """
        worth = np.zeros(len(come), np.int64)
        contents = np.zeros(come.shape, np.int32)
        for group in np.flatnonzero(come.any(axis=1)).tolist():
            room, mix = self.fleet.room[group], mixes[group]
            worth[group], contents[group] = self._content(room, come[group], value, mix, slack=slack, steps=steps)
        return worth, contents

    def filled(self, group: int, content: Ints, left: Ints, value: Ints, mix: Floats) -> Ints:
        """Return ``content`` with what is best of ``left`` in the rest of a node."""
        fleet = self.fleet
        room = fleet.room[group] - content @ fleet.demand
        come = np.minimum(fleet.come[group], left - content)
        come[(fleet.demand > room).any(axis=1)] = 0
        if not come.any():
            return content
        # Also of pods that are worth nothing.
        more = self._content(room, come, value + 1, mix, slack=0, steps=FILLING)
        return content + more[1]

    def proved(self, value: Ints, worth: Ints) -> int:
        """Return what no assignment costs less than, beside the nodes always in use."""
        beyond = np.maximum(0, worth - self._cost)
        parts = int(value @ self.fleet.count) - int(beyond @ self.fleet.size)
        return -(-parts * self.fleet.typical // SCALE)

    def _shares(self, first_row: int) -> list[Entries]:
        """Return which share of a node each pod takes, in rows of room."""
        fleet, width = self.fleet, self.fleet.room.shape[1]
        entries = []
        for dimension, wanted in enumerate(fleet.demand.T):
            columns = np.flatnonzero(wanted[self._kind])
            at, kind = self._at[columns], self._kind[columns]
            row = first_row + at * width + dimension
            entries.append(Entries(row, columns, wanted[kind] / fleet.room[at, dimension]))
        return entries

    def _content(
        self, room: Ints, come: Ints, value: Ints, mix: Floats, *, slack: int, steps: int
    ) -> tuple[int, Indices]:
        """Return a limit on what one node holds, and its best content."""
        demand = self.fleet.demand
        kinds, width = demand.shape
        worth, patterns = np.zeros(1, np.int64), np.zeros((1, kinds, 2), np.int32)
        nothing = np.zeros(1, np.int64)
        best_patterns(
            demand, room[None], np.zeros((1, kinds), np.int32),
            come.astype(np.int32)[None], value, np.zeros(kinds, np.int64),
            np.vstack([mix, np.eye(width)]), nothing.astype(np.int32), nothing, slack,
            steps, worth, patterns,
        )  # fmt: skip
        return int(worth[0]), patterns[0, :, 1]


def whole(prices: Floats) -> Ints:
    """Return prices, in typical nodes, as whole parts of `SCALE`."""
    return np.rint(np.clip(prices, 0, MOST_PRICE) * SCALE).astype(np.int64)
