"""One linear program for all phases of a tier, and prices for their weighted sum.

What is asked of a tier differs by objective and requirements only, so that patterns
that are good for one phase are good for the others. They are found for a sum of all
phases, for which steps down the slope are of use; then each phase needs a few rounds.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stowage_optimizer.bounds.by_kind import starting_duals
from stowage_optimizer.bounds.descent import Descent
from stowage_optimizer.bounds.generation import Generation
from stowage_optimizer.bounds.groups import Groups, at_home, make_groups
from stowage_optimizer.bounds.master import Master
from stowage_optimizer.bounds.question import SCALE, Duals, Phase, Question
from stowage_optimizer.bounds.scope import Scope, make_scope, phases, weighted
from stowage_optimizer.model.options import Clock
from stowage_optimizer.search.problem import Indices, Ints

STEPS_AT_ONCE = 50
"""Steps down the slope that count as one round."""

NEAR = 0.9
"""Gap of the weighted sum at which it has done what it is for; a move is 2."""


class TierProgram:
    """The patterns of one tier, whose tiers above reach certain values.

    Parameters
    ----------
    question
        About any phase of the tier.
    before
        The program of the tier when others were reached, whose patterns and prices
        are good to begin with.

    Attributes
    ----------
    scope
        Of the last phase, with every requirement that any of them comes with.
    usable
        Whether there is a program at all; without, nothing else can be asked.
    """

    def __init__(self, question: Question, before: TierProgram | None = None) -> None:
        first = make_scope(replace(question, phase=Phase.KEEP))
        *own, last = phases(first, question.tier)
        every = (*first.requirements, *own)
        self.scope = replace(first, objective=last, requirements=every)
        groups = make_groups(self.scope)
        self.usable = groups is not None
        if groups is None:
            return
        self.groups: Groups = groups
        self._question = question
        self.master = Master(self.scope, groups)
        self._clock: Clock | None = None
        self._deadline = 0.0
        objective = weighted(first, question.tier)
        self._sum = self.generation(replace(first, objective=objective))
        self._descent: Descent | None = None
        self._known: Duals | None = None
        if before and before.usable and self._like(before):
            self._known = before.at
            self.master.take(before.master)

    def generation(self, scope: Scope) -> Generation:
        """Return a search for the prices of ``scope``, which is about the tier."""
        return Generation(scope, self.groups, self.master, self.left_s)

    def left_s(self) -> float:
        """Return the seconds until `run_until`'s deadline."""
        return 0.0 if self._clock is None else self._deadline - self._clock()

    def run_until(self, deadline: float, clock: Clock) -> None:
        """Have all searches end at ``deadline``."""
        self._deadline, self._clock = deadline, clock

    def know(self, placed: Ints) -> None:
        """Add the patterns of an assignment: node by item, negative for none."""
        content = patterns_of(self.scope, self.groups, placed)
        self.master.add(self.groups.group.astype(np.int64), content)

    @property
    def ready(self) -> bool:
        """Whether the weighted sum needs no more work."""
        return self._sum.finished

    @property
    def descending(self) -> bool:
        """Whether there still are steps down the slope to make."""
        return self._descent is None or not self._descent.finished

    @property
    def bound(self) -> int | None:
        """The best that is proved of the weighted sum, in parts of `SCALE`."""
        best = self._sum.best
        return None if best is None else best.bound

    @property
    def at(self) -> Duals | None:
        """The best prices of the weighted sum."""
        return self._sum.at

    def prepare(self) -> None:
        """Do a round of work, or a step, for the weighted sum."""
        if self._descent is None:
            # Prices of an earlier program are near the best already.
            near = self._known is not None
            self._descent = Descent(self._sum, self._start(), near=near)
        if not self.descending:
            self._sum.round(None, self._near, whole=False)
        else:
            self._descent.run(STEPS_AT_ONCE)

    def _start(self) -> Duals:
        if self._known is not None:
            return self._known
        return starting_duals(self._question, self._sum.scope, self.left_s())

    @staticmethod
    def _near(value: float, bound: int) -> bool:
        return bound <= (value + NEAR) * SCALE

    def _like(self, before: TierProgram) -> bool:
        """Return whether ``before`` is about the same pods and nodes."""
        mine, other = self.scope, before.scope
        return (
            np.array_equal(mine.items, other.items)
            and len(mine.requirements) == len(other.requirements)
            and np.array_equal(self.groups.group, before.groups.group)
        )


def patterns_of(scope: Scope, groups: Groups, placed: Ints) -> Indices:
    """Return what each node holds under ``placed``, shape ``(nodes, kinds, 2)``."""
    nodes, kinds = len(scope.room), len(scope.kinds)
    patterns = np.zeros((nodes, kinds, 2), np.int32)
    where = np.asarray(placed)[scope.items]
    has_node = where >= 0
    there = patterns[:, :, 1]
    np.add.at(there, (where[has_node], scope.kind_of[has_node]), 1)
    # Replicas are equal: as many stay as are on their kind's home nodes.
    stays = np.minimum(patterns[:, :, 1], at_home(scope)) * groups.staying
    patterns[:, :, 0] = stays
    patterns[:, :, 1] -= patterns[:, :, 0]
    return patterns
