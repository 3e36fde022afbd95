"""A bound of one phase by prices, searched in slices of time."""

from collections import defaultdict
from math import floor

import numpy as np

from stowage_optimizer.bounds.column_generation import ColumnGeneration
from stowage_optimizer.bounds.lagrangian import Evaluation
from stowage_optimizer.bounds.phase import SCALE, Bound, Duals, Phase, Question
from stowage_optimizer.bounds.scope import Scope, from_maximum, make_scope, sum_weights, to_maximum
from stowage_optimizer.bounds.tier_program import SLACK, TierProgram
from stowage_optimizer.model.certificate import DeviceWeights, DualBound, PodPrice, ProofMethod, RequirementPrice
from stowage_optimizer.model.options import Clock
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.problem import Ints

MOST_ROUNDS = 400
"""Rounds after which nothing more is expected; the limit of a deterministic run."""

NEGLIGIBLE = 1e-7
"""By how much the linear program's value may be off; it only decides when to stop."""

POLISHED = 0.01
"""Gap to the linear program at which prices are as tight as enumeration needs them."""


class DualSearch:
    """Searches prices for the bound that they prove, in slices of time.

    Parameters
    ----------
    placed
        Node by item, negative for none, of an assignment that reaches what the
        question presumes, shape ``(items,)``. It only speeds the search up.
    program
        The tier's program, shared with its other phases; None for one of its own.

    Attributes
    ----------
    usable
        Whether there is a program; without, the search cannot run.
    finished
        Whether resuming cannot bring anything.
    """

    def __init__(self, question: Question, placed: Ints, clock: Clock, program: TierProgram | None = None) -> None:
        self.question, self._clock = question, clock
        self.program = program or TierProgram(question)
        self.scope = make_scope(question)
        self.usable = self.program.usable
        self.finished = not self.usable
        self._polish = False
        if self.usable:
            self.program.know(placed)
            self._own: ColumnGeneration = self.program.generation(self.scope)

    @property
    def preparing(self) -> bool:
        """Whether the tier's program is still at work for all phases at once."""
        return self.usable and not self.program.ready

    def run(
        self,
        deadline: float,
        *,
        good_enough: int | None = None,
        rounds: int = MOST_ROUNDS,
        polish: bool = False,
        share: bool = False,
    ) -> Bound | None:
        """Go on until ``deadline`` and return the best bound so far, if there is one.

        Parameters
        ----------
        deadline
            When to stop; a step between two looks at the clock takes some milliseconds.
        good_enough
            A bound that need not be beaten, such as what is reached.
        rounds
            Most rounds to make.
        polish
            Whether to go on for the sake of the prices when the bound as a whole number
            cannot get better: `Enumeration` lists the fewer the tighter they are.
        share
            Whether to stop when the program becomes ready, which other phases wait for.
        """
        if not self.usable:
            return None
        if polish and not self._polish:
            self.finished = False
        self._polish = polish
        self.program.run_until(deadline, self._clock)
        goal = None
        if good_enough is not None:
            goal = to_maximum(self.question, self.scope, good_enough)
        waiting = share and not self.program.ready
        for _ in range(rounds):
            late = self.program.left_s() <= 0
            if self.finished or late or self._own.good(goal):
                break
            if waiting and self.program.ready:
                break
            self._round(goal)
        best = self._own.best
        if best is None:
            return None
        value = from_maximum(self.question, self.scope, best.bound)
        return Bound(value, ProofMethod.DUAL_BOUND, best.prices)

    def _round(self, goal: int | None) -> None:
        """Prepare the program; then try its prices while they help."""
        if not self.program.ready:
            self.program.prepare()
            return
        if self._own.best is None and self._open() is not None:
            return
        self._own.round(goal, self._tight, whole=not self._polish)
        self.finished = self._own.finished

    def _open(self) -> Evaluation | None:
        """Evaluate what the sum of all phases says of the last one, if it is asked."""
        at = self.program.sum.at
        if at is None or self.question.phase is not Phase.DISRUPT:
            return None
        weights = sum_weights(self.program.sum.scope)
        own = [float(weights[row.phase]) for row in self.scope.requirements[len(at.requirement) :]]
        requirement = np.concatenate([at.requirement, own])
        return self._own.evaluate(Duals(at.pod, at.run, requirement), SLACK)

    def _tight(self, value: float, bound: int) -> bool:
        """Return whether no prices could prove more: the program only grows."""
        if self._polish:
            return bound <= (value + POLISHED) * SCALE
        least = floor((value + NEGLIGIBLE) * SCALE)
        return from_maximum(self.question, self.scope, bound) == from_maximum(self.question, self.scope, least)


def dual_certificate(
    question: Question, packing: Packing, bound: Bound, scope: Scope | None = None
) -> DualBound | None:
    """Return the prices of ``bound`` by pods and priorities; None if it has none.

    Parameters
    ----------
    scope
        What the prices are of, where that is not the question's own scope. Pods that
        are settled in that one have no price: where they are known to stay, the same
        prices prove no less.
    """
    if bound.prices is None:
        return None
    own = make_scope(question)
    scope = scope or own
    open_to_all = np.isin(scope.items, own.items)
    members: defaultdict[int, list[str]] = defaultdict(list)
    for item, kind in zip(scope.items[open_to_all], scope.kind_of[open_to_all], strict=True):
        members[int(kind)].append(packing.pod_uids[item])
    return DualBound(
        scale=SCALE,
        pods=tuple(
            PodPrice(tuple(uids), int(bound.prices.pod[kind]), int(bound.prices.run[kind]))
            for kind, uids in sorted(members.items())
        ),
        requirements=tuple(
            RequirementPrice(packing.tiers[row.tier], row.phase.value, int(price))
            for row, price in zip(scope.requirements, bound.prices.requirement, strict=True)
        ),
        device_weights=tuple(map(DeviceWeights, packing.device_weights)),
    )
