"""Steps down the bound along its own slope, which bring it near the best quickly.

Column generation alone begins with prices that swing widely, and takes many rounds to
settle where every node is a group of its own. A step costs no linear program: a pod
that the patterns hold too often gets dearer, one that they leave out cheaper. Each step
looks for the best patterns of a few groups only, and takes the others as they were;
how far it goes is scaled price by price (Adam), and falls as the steps go on. Only a
whole evaluation, now and then, proves anything.
"""

import numpy as np

from stowage_optimizer.bounds.generation import Generation
from stowage_optimizer.bounds.question import SCALE, Duals, Floats
from stowage_optimizer.model.problem import Ints

STEPS = 2000
"""Most steps."""

STEPS_PER_GROUP = 8
"""Most of them for each group."""

FEW = 200
"""Groups of which a few rounds of column generation find as much at once."""

SHARE = 0.03
"""Share of the groups that are looked at in a step."""

WHOLE_EVERY = 4
"""Passes over all groups from one whole evaluation to the next."""

FIRST_STEP, LAST_STEP = 0.1, 0.02
"""How far prices go, in units of the least objective; it falls geometrically."""

TIED_STEP = 0.5
"""How much shorter steps of the prices of requirements are: tiers share their pods."""

MOMENTUM, MEMORY, DAMPING = 0.8, 0.98, 0.05
"""Adam's parameters: of the mean of the slope, of its square, and what both end at."""

SLACK = SCALE // 16
"""By how much a bound on the way may miss what its prices could prove."""


class Descent:
    """Steps down for one objective.

    Parameters
    ----------
    generation
        Where the best prices are kept, and patterns go.
    near
        Whether the start needs no steps, only to be evaluated.
    """

    def __init__(self, generation: Generation, start: Duals, *, near: bool) -> None:
        self._generation = generation
        scope, groups = generation.scope, generation.groups
        self._kinds = len(scope.count)
        self._all_run = scope.running == scope.count
        self._mixed = (scope.running > 0) & ~self._all_run
        self._needs = [
            (one.placed + np.where(self._all_run, one.running, 0), one.stays,
             np.where(self._mixed, one.running, 0), one.constant)
            for one in scope.requirements
        ]  # fmt: skip
        heaviest = [max(1, *placed, *stays) for placed, stays, _, _ in self._needs]
        self._scale = np.concatenate([np.ones(2 * self._kinds), TIED_STEP / np.array(heaviest, float)])
        self._prices = np.concatenate([start.pod, start.run, start.requirement])
        self._mean, self._square = np.zeros((2, len(self._prices)))
        number = len(groups.size)
        needless = near or number <= FEW
        self._steps = 0 if needless else min(STEPS, STEPS_PER_GROUP * number)
        self._batch = max(1, int(np.ceil(SHARE * number)))
        # A fixed seed: the same question, the same answer.
        self._random = np.random.default_rng(0)
        self._order = self._random.permutation(number)
        self._passes = self._step = 0
        self._due = True
        """Whether all groups are to be evaluated before the next step."""

    @property
    def finished(self) -> bool:
        """Whether no step is left."""
        return self._step >= self._steps and not self._due

    def run(self, most: int) -> None:
        """Make up to so many steps, while there is time."""
        for _ in range(most):
            if self.finished or self._generation.late:
                return
            self._go_on()

    def _go_on(self) -> None:
        if self._due:
            self._evaluate()
            return
        now = np.sort(self._order[: self._batch])
        self._order = self._order[self._batch :]
        self._look_again(now)
        self._move()
        self._step += 1
        if not len(self._order):
            self._passes += 1
            self._order = self._random.permutation(len(self._patterns))
        passed = len(self._order) == len(self._patterns)
        self._due = self._step == self._steps or (passed and self._passes % WHOLE_EVERY == 0)

    @property
    def _duals(self) -> Duals:
        pod, run, requirement = np.split(self._prices, [self._kinds, 2 * self._kinds])
        return Duals(pod.copy(), run.copy(), requirement.copy())

    def _evaluate(self) -> None:
        """Evaluate all groups, and have the program know the best patterns."""
        generation = self._generation
        before = generation.best
        found = generation.evaluate(self._duals, SLACK)
        if found is None:
            # Where time is over there is a next time; absurd prices stay absurd.
            if not generation.late:
                self._step, self._due = self._steps, False
            return
        self._due = False
        if generation.best is not before:
            generation.add(found)
        self._patterns = found.patterns.astype(np.int64)
        content = self._patterns * generation.groups.size[:, None, None]
        self._stays, self._placed = content[:, :, 0].sum(0), content.sum((0, 2))

    def _look_again(self, groups: Ints) -> None:
        """Replace the patterns of ``groups`` by the best ones at the prices."""
        generation = self._generation
        prices = generation.lagrangian.round(self._duals)
        new = generation.lagrangian.quick_patterns(prices, groups, SLACK)
        size = generation.groups.size[groups][:, None, None]
        change = (new - self._patterns[groups]) * size
        self._stays = self._stays + change[:, :, 0].sum(0)
        self._placed = self._placed + change.sum((0, 2))
        self._patterns[groups] = new

    def _move(self) -> None:
        """Follow the slope, as far as its mean and its spread suggest."""
        slope, number = self._slope(), self._step + 1
        self._mean = MOMENTUM * self._mean + (1 - MOMENTUM) * slope
        self._square = MEMORY * self._square + (1 - MEMORY) * slope**2
        mean = self._mean / (1 - MOMENTUM**number)
        spread = np.sqrt(self._square / (1 - MEMORY**number))
        length = FIRST_STEP * (LAST_STEP / FIRST_STEP) ** (self._step / self._steps)
        ahead = self._prices - length * self._scale * mean / (spread + DAMPING)
        self._prices = np.maximum(0, ahead)
        at_zero = self._prices <= 0
        self._mean[at_zero] = np.minimum(self._mean[at_zero], 0)

    def _slope(self) -> Floats:
        """Return by how much the bound rises with each price."""
        scope, lagrangian = self._generation.scope, self._generation.lagrangian
        run, requirement = np.split(self._prices[self._kinds :], [self._kinds])
        free = lagrangian.running_value(np.rint(requirement * SCALE)) / SCALE > run
        running = np.where(self._mixed & free, scope.running, 0)
        needs = [
            self._placed @ placed + self._stays @ stays + running @ each - constant
            for placed, stays, each, constant in self._needs
        ]
        mixed = np.where(self._mixed, self._placed - running, 0)
        return np.concatenate([scope.count - self._placed, mixed, needs]).astype(float)
