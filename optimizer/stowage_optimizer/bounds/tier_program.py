"""One linear program for all phases of a tier, and prices for their weighted sum.

What is asked of a tier differs by objective and requirements only, so that patterns
that are good for one phase are good for the others. They are found for a sum of all
phases; then each phase needs a few rounds.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stowage_optimizer.bounds.aggregate_relaxation import starting_duals
from stowage_optimizer.bounds.column_generation import LAST_S, ColumnGeneration
from stowage_optimizer.bounds.groups import Groups, at_home, make_groups
from stowage_optimizer.bounds.master import Master
from stowage_optimizer.bounds.phase import SCALE, Duals, Floats, Phase, Question
from stowage_optimizer.bounds.scope import Scope, make_scope, phases, sum_weights, weighted
from stowage_optimizer.model.options import Clock
from stowage_optimizer.model.problem import Indices, Ints

SLACK = SCALE // 16
"""By how much the first bound may miss what its prices could prove."""

NEAR = 0.9
"""Gap of the weighted sum at which it has done what it is for; a move is 2."""

NEAR_SHARE = 0.004
"""The same as a share of the sum, where that is more: the phases go on from there."""


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
    sum
        Searches prices for the weighted sum of all phases.
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
        self.question = question
        like = before
        if before and not (before.usable and before.master.like(self.scope, groups)):
            like = None
        self.master: Master = like.master if like else Master(self.scope, groups)
        # Every node holds the empty pattern of its group.
        self._held = groups.group.astype(np.int64)
        self._content: Indices | None = None
        self._clock: Clock | None = None
        self._deadline = 0.0
        objective = weighted(first, question.tier)
        self.sum = self.generation(replace(first, objective=objective))
        # Prices of another program are good to begin with.
        self._known = like.sum.at if like else None
        self._begun = False

    def generation(self, scope: Scope) -> ColumnGeneration:
        """Return a search for the prices of ``scope``, which is about the tier."""
        return ColumnGeneration(scope, self.groups, self.master, self.left_s)

    def left_s(self) -> float:
        """Return the seconds until `run_until`'s deadline."""
        return 0.0 if self._clock is None else self._deadline - self._clock()

    def run_until(self, deadline: float, clock: Clock) -> None:
        """Have all searches end at ``deadline``."""
        self._deadline, self._clock = deadline, clock

    def know(self, placed: Ints) -> Ints:
        """Add the patterns of an assignment, and return which each node has.

        Parameters
        ----------
        placed
            Node by item, negative for none.
        """
        content = patterns_of(self.scope, self.groups, placed)
        group = self.groups.group.astype(np.int64)
        if self._content is None:
            self._content = np.zeros_like(content)
        new = np.flatnonzero((content != self._content).any(axis=(1, 2)))
        first = len(self.master.patterns)
        self.master.add(group[new], content[new])
        self._held[new] = first + np.arange(len(new))
        self._content = content
        return self._held.copy()

    def look_again(self, limit_s: float) -> None:
        """Solve the sum's linear program over what is known now, if there is time."""
        self.master.aim(self.sum.scope)
        solved = self.master.solve(limit_s)
        if solved is not None:
            self.sum.used = solved.used

    @property
    def used(self) -> Floats:
        """How often the sum's linear program used each pattern when it was solved."""
        before = self.sum.used
        return np.concatenate([before, np.zeros(len(self.master.patterns) - len(before))])

    def worth(self) -> Floats:
        """Return what each pattern is worth at the best prices of the sum, if any."""
        lagrangian, at = self.sum.lagrangian, self.sum.at
        if at is None:
            return np.zeros(len(self.master.patterns))
        pod, stay = lagrangian.values(lagrangian.round(at))
        return self.master.patterns.total(pod, stay) / SCALE

    @property
    def ready(self) -> bool:
        """Whether the weighted sum needs no more work."""
        return self.sum.finished

    @property
    def bound(self) -> int | None:
        """The best that is proved of the weighted sum, in parts of `SCALE`."""
        best = self.sum.best
        return None if best is None else best.bound

    def prepare(self) -> None:
        """Do a round of work for the weighted sum."""
        if self._begun:
            self.sum.round(None, self._near, whole=False)
            return
        start = self._known or self._start()
        if start is None:
            return
        found = self.sum.evaluate(start, SLACK)
        if found is not None:
            self.sum.add(found)
        # Where time is over there is a next time; absurd prices stay absurd.
        self._begun = found is not None or self.left_s() > 0

    def _start(self) -> Duals | None:
        """Return prices to begin with; None if there is no time for them now."""
        found = starting_duals(self.question, self.sum.scope, self.left_s())
        if found is None and self.left_s() > LAST_S:
            nothing = np.zeros(len(self.scope.count))
            needs = np.zeros(len(self.sum.scope.requirements))
            found = Duals(nothing, nothing, needs)
        return None if found is None else self._hold_others(found)

    def _hold_others(self, start: Duals) -> Duals:
        """Price a move in the tiers above like a pod of this one: from a price of nothing the way there is long."""
        # Those that run there then stay at home, as most do, and their own prices pay for it.
        scope = self.sum.scope
        of_moves = [one.phase is Phase.DISRUPT for one in scope.requirements]
        if not any(of_moves):
            return start
        last = int(np.flatnonzero(of_moves)[-1])  # it is about all tiers above
        row = scope.requirements[last]
        all_run = scope.running == scope.count
        requirement = start.requirement.copy()
        weight = sum_weights(scope)[Phase.KEEP]
        requirement[last] += weight
        more = np.where(all_run, weight * (row.running + row.stays), 0)
        return Duals(start.pod + more, start.run, requirement)

    @staticmethod
    def _near(value: float, bound: int) -> bool:
        return bound <= (value + max(NEAR, NEAR_SHARE * value)) * SCALE


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
