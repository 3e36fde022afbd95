"""Steps down the bound along its own slope, which bring it near the best quickly.

Column generation alone begins with prices that swing widely, and takes hundreds of
rounds to settle where every node is a group of its own. A subgradient step costs no
linear program: a pod that the best patterns hold too often gets dearer, one that they
leave out cheaper, by as much as would close the gap to what is reached (Polyak).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stowage_optimizer.bounds.groups import Groups, mixes_of
from stowage_optimizer.bounds.lagrangian import Evaluation, Lagrangian
from stowage_optimizer.bounds.master import Duals, Floats
from stowage_optimizer.bounds.question import SCALE, Phase
from stowage_optimizer.bounds.scope import Scope
from stowage_optimizer.search.problem import Ints

MOST_STEPS = 60
"""Steps after which the linear program gets on faster."""

PATIENCE = 4
"""Steps without progress after which they get shorter."""

SHORTER = 0.6
"""By how much."""

SLACK = SCALE // 16
"""By how much a bound on the way may miss what its prices could prove."""

LAST_POD = 3.0
"""What the last pod that is placed costs in disruption, to begin with."""

REQUIREMENT_SHARE = 0.1
"""How fast the prices of requirements move, relative to those of pods."""


@dataclass(slots=True)
class Descent:
    """Subgradient steps for one question.

    Parameters
    ----------
    reached
        What is reached, in the objective's terms without its constant: the bound that
        the steps aim at. None where it is not known.
    start
        Prices to begin with; None where none are known.
    """

    scope: Scope
    groups: Groups
    lagrangian: Lagrangian
    reached: int | None
    start: Duals | None
    finished: bool = False
    best: Evaluation | None = None
    at: Duals | None = None
    _next: Duals | None = field(init=False)
    _length: float = 1.0
    _fruitless: int = 0
    _steps: int = 0

    def __post_init__(self) -> None:
        self._next = self.start
        self.finished = self._next is None

    def step(self) -> Evaluation | None:
        """Evaluate the next prices; None if time is over or they are absurd."""
        tried = self._next
        if tried is None:
            return None
        found = self.lagrangian.evaluate(self.lagrangian.round(tried), SLACK)
        self._steps += 1
        if found is None:
            self.finished = True
            return None
        if self.best is None or found.bound < self.best.bound:
            self.best, self.at, self._fruitless = found, tried, 0
        else:
            self._fruitless += 1
            if self._fruitless >= PATIENCE:
                self._length *= SHORTER
                self._fruitless = 0
        self._next = self._further(tried, found)
        self.finished = self._next is None or self._steps >= MOST_STEPS
        return found

    def _further(self, tried: Duals, found: Evaluation) -> Duals | None:
        """Return prices one step down from ``tried``; None where there is no slope."""
        if self.reached is None:
            return None
        rise, needs = self._slope(tried, found)
        steepness = float(rise @ rise + REQUIREMENT_SHARE * (needs @ needs))
        gap = found.bound / SCALE - self.reached
        if steepness <= 0 or gap <= 0:
            return None
        step = self._length * gap / steepness
        return Duals(
            pod=np.maximum(0, tried.pod - step * rise),
            run=tried.run,
            requirement=np.maximum(
                0, tried.requirement - REQUIREMENT_SHARE * step * needs
            ),
        )

    def _slope(self, tried: Duals, found: Evaluation) -> tuple[Ints, Ints]:
        """Return by how much the bound rises with each price, where it may fall."""
        scope = self.scope
        content = found.patterns * self.groups.size[:, None, None]
        stays, placed = content[:, :, 0].sum(axis=0), content.sum(axis=(0, 2))
        running = np.where(scope.running == scope.count, placed, 0)
        needs = [
            placed @ row.placed + stays @ row.stays + running @ row.running
            for row in scope.requirements
        ]
        rise = scope.count - placed
        over = np.array(needs, np.int64) - [row.constant for row in scope.requirements]
        return (
            np.where((tried.pod <= 0) & (rise > 0), 0, rise),
            np.where((tried.requirement <= 0) & (over > 0), 0, over),
        )


def starting_prices(phase: Phase, scope: Scope, groups: Groups) -> Duals | None:
    """Return prices to begin with; None where none are known.

    Of `DISRUPT` those under which no pod gains by coming anywhere: every pod stays at
    home, and the bound holds trivially. Of the others the knapsack's.
    """
    if phase is not Phase.DISRUPT:
        return opening_prices(scope, groups)
    price = np.zeros(len(scope.requirements))
    # The last row is of the tier itself, and in it every pod counts.
    if len(price) and scope.requirements[-1].phase is Phase.PLACE:
        price[-1] = LAST_POD
    worth = scope.objective.placed.astype(float)
    running = scope.objective.running.astype(float)
    for each, row in zip(price, scope.requirements, strict=True):
        worth = worth + each * row.placed
        running = running + each * row.running
    # Where some of a kind run and some do not, only those that run are worth more.
    run = np.where(scope.running == scope.count, running, 0.0)
    return Duals(pod=worth + run, run=run, requirement=price)


def opening_prices(scope: Scope, groups: Groups) -> Duals | None:
    """Return prices from which to start; None where only staying at home counts.

    A pod is worth 1 and takes room: its price is what is left after paying for the
    room, at the rate of the pod that just no longer fits.
    """
    gain = (scope.objective.placed + scope.objective.running).astype(float)
    if scope.objective.stays.any() or not gain.any():
        return None
    total = np.maximum(groups.size @ groups.room, 1).astype(float)
    best, price = np.inf, np.zeros(len(gain))
    for mix in mixes_of(groups.demand, groups.room):
        weight = np.maximum((groups.demand / total) @ mix, 1e-12)
        rate, value = _critical(gain, weight, scope.count.astype(float))
        if value < best:
            best, price = value, np.maximum(0, gain - rate * weight)
    nothing = np.zeros(len(gain))
    return Duals(price, nothing, np.zeros(len(scope.requirements)))


def _critical(gain: Floats, weight: Floats, count: Floats) -> tuple[float, float]:
    """Return the gain per weight at which the room is full, and the value then."""
    order = np.argsort(-gain / weight, kind="stable")
    filled = np.cumsum((weight * count)[order])
    full = int(np.searchsorted(filled, 1.0, side="right"))
    value = float((gain * count)[order][:full].sum())
    if full == len(order):
        return 0.0, value
    last = order[full]
    rate = float(gain[last] / weight[last])
    return rate, value + rate * (1.0 - (float(filled[full - 1]) if full else 0.0))
