"""Plans for pods that are tied to each other: by demands, by budgets, by limits.

What fits as it is comes first: no answer is worse. Then the problem is solved without
what ties pods: what is proved then is a limit with all of it too, and a plan that
happens to keep to everything is as good as proved. Where it does not, pods with demands
get domains to keep to, pods of a budget stay but for as many as it allows, and the
problem is solved again, with other pins each time. Small problems are then solved
exactly.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from random import Random

from stowage_optimizer.model.budget import Budget
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.problem import NOWHERE
from stowage_optimizer.model.solution import Publish, Solution
from stowage_optimizer.stages.finish.limits import within_limits
from stowage_optimizer.stages.finish.trimming import search_within_limits
from stowage_optimizer.stages.related.checker import RelationChecker
from stowage_optimizer.stages.related.exact import improved, manageable
from stowage_optimizer.stages.related.pinning import (
    domains_for,
    held_back,
    perturbed,
    pinned,
    undemanding,
    without_relations,
)
from stowage_optimizer.stages.stage import Stage, run_stages
from stowage_optimizer.strategies.strategy import Strategy

EASIER_SHARE = 0.7
"""Part of the time limit for the problem without what ties pods, at the most."""

LIMITED_SHARE = 0.9
"""The same where limits alone tie them: mostly they are in nobody's way."""

MOST_FILLED_PAIRS = 2_000_000
"""Pairs of waiting pod and node that are looked through in about a tenth of a second:
with more, the strategy comes first where it knows of all that matters but budgets."""

FIRST_SHARE = 0.7
ROUND_SHARE = 0.25
"""Part of the time that is left for the first round after that, and for one more."""

LEAST_SHARE = 0.05
"""Part of the time limit that a round is worth starting with."""

KEPT_SHARE = 0.03
"""Part of the time limit that is kept back for making a plan whole."""

AT_ONCE_PAIRS = 1_000
"""Pairs of pod and node up to which the exact search is quicker than any round."""

MOST_IDLE_ROUNDS = 16
"""Rounds without a gain, after which no more are tried."""

REPAIRED_IN_A_SECOND = 2_000
"""Pods of a snapshot whose proposals take a second at most to repair; twice as many
take four: 2,400 took 1.1 s beside other work on 2 cores."""

MADE_WHOLE_PER_S = 20_000
"""Pods whose proposals are repaired in a second where there are no relations."""

REPAIRING_SHARE = 0.3
"""Part of the time limit that one repair may take at the most, for any to be tried."""

COUNTED_ROUNDS = 3
COUNTED_SHARE = 0.1
"""Rounds where work is counted, and what each is given of the limit."""


def repairing_s(packing: Packing) -> float:
    """Return the seconds that repairing one proposal takes at the most."""
    pods = len(packing.snapshot.pods)
    if packing.relations is None:
        return pods / MADE_WHOLE_PER_S
    return (pods / REPAIRED_IN_A_SECOND) ** 2


@dataclass(frozen=True, slots=True)
class KeepTies(Stage):
    """Pods that are tied to each other are moved so that everything is kept to."""

    strategy: Strategy
    packing: Packing

    def improve(self, known: Solution, budget: Budget, publish: Publish) -> Solution:
        """Return the best solution in time that keeps every relation and allowance."""
        del known
        return _Moving(self.strategy, self.packing, budget, publish).solve()


@dataclass(slots=True)
class _Moving:
    strategy: Strategy
    packing: Packing
    budget: Budget
    publish: Publish
    _easier: Packing = field(init=False)
    _bounded: Packing = field(init=False)
    _wholes_s: float = field(init=False, default=0.0)
    _preparing_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._easier = without_relations(self.packing)
        self._bounded = within_limits(self.packing, self.budget.options.limits)
        self._preparing_s = repairing_s(self.packing)

    def solve(self) -> Solution:
        checker = RelationChecker(self.packing, self.budget, self.publish, self._hurry)
        if self.packing.relations is not None or self._soon_filled():
            self._timed(checker.place_as_it_is)

        def look(found: Solution) -> None:
            # Which solutions are seen on the way depends on the time.
            if not self.budget.counted:
                checker.limit(found, repair=False)

        easier = self._solve(self._easier, self._first(), look)
        self._timed(partial(checker.limit, easier, repair=True))
        if checker.best == self.packing.current:
            self._timed(checker.place_as_it_is)
        self._go_on(checker)
        return checker.solution()

    def _go_on(self, checker: RelationChecker) -> None:
        if checker.matches():
            # Within limits, what was trimmed may be as good as it and yet not the best.
            settled = checker.easier.optimal or (bool(self._bounded.allowances) and self._exact(checker))
            if not settled:
                self._try_again(checker)
            return
        if manageable(self._bounded, AT_ONCE_PAIRS) and self._exact(checker):
            return
        idle, tried = 0, False
        for packing, share in self._rounds(checker):
            before = checker.value
            proposal = self._solve(packing, share, _ignored).on(self.packing)
            self._timed(partial(checker.consider, proposal))
            if not tried and self._exact(checker):
                return
            tried = True
            idle = idle + 1 if checker.value == before else 0
            if checker.matches() or idle == MOST_IDLE_ROUNDS:
                return

    def _try_again(self, checker: RelationChecker) -> None:
        """Solve the easier problem in the time that nothing else needs."""
        share = self._share(0)
        if share:
            seed = self.budget.options.seed + 1
            easier = self._solve(self._easier, share, _ignored, seed)
            self._timed(partial(checker.limit, easier, repair=True))

    def _exact(self, checker: RelationChecker) -> bool:
        """Let CP-SAT improve and prove limits; return whether all is proved."""
        if checker.solution().optimal:
            return True
        found = self._improved(self.packing, checker, checker.proved())
        if found is not None:
            self._timed(partial(checker.attest, found))
        if self._bounded is not self.packing and not checker.solution().optimal:
            # What is proved of plans within the limits is not proved of all.
            found = self._improved(self._bounded, checker, 0)
            if found is not None:
                self._timed(partial(checker.consider, found.assignment))
        return checker.solution().optimal

    def _improved(self, packing: Packing, checker: RelationChecker, proved: int) -> Solution | None:
        """Return what CP-SAT makes of the best; None without time, or if too large."""
        share = self._share(0)
        if not (share and manageable(packing)):
            return None
        budget = self.budget.part(share * self.budget.limit_s)
        return improved(packing, checker.best, proved, budget)

    def _rounds(self, checker: RelationChecker) -> Iterator[tuple[Packing, float]]:
        """Yield problems, and the part of the time limit that each is given."""
        rng = Random(self.budget.options.seed)  # noqa: S311 - not for secrets
        number = 0
        while share := self._share(number):
            if number == 1:
                plain = undemanding(self.packing)
                yield held_back(plain, plain.current), share
            else:
                yield self._pinned(checker, rng if number else None), share
            number += 1

    def _pinned(self, checker: RelationChecker, rng: Random | None) -> Packing:
        """Return the problem with each pod in the domains of some proposal."""
        packing = self.packing
        proposal = checker.reached
        if rng is not None:
            proposal = perturbed(packing, proposal, checker.best, rng)
        began = self.budget.clock()
        easier = packing
        if packing.relations is not None:
            proposal = domains_for(packing, proposal, self.budget.policy)
            easier = pinned(packing, proposal)
        easier = held_back(easier, proposal, rng, exceeded=rng is None)
        self._preparing_s = self.budget.clock() - began
        return easier

    def _share(self, number: int) -> float:
        """Return the part of the limit for round ``number``, 0 if there is none."""
        if self.budget.counted:
            return COUNTED_SHARE if number < COUNTED_ROUNDS else 0.0
        limit_s = self.budget.limit_s
        left_s = self._until() - self._preparing_s - self.budget.clock()
        left = left_s / limit_s if limit_s else 0.0
        if left < LEAST_SHARE:
            return 0.0
        return max(LEAST_SHARE, (ROUND_SHARE if number else FIRST_SHARE) * left)

    def _until(self) -> float:
        """Return when nothing new is started."""
        kept_s = KEPT_SHARE * self.budget.limit_s
        return self.budget.ends - max(kept_s, 2 * self._wholes_s)

    def _solve(self, packing: Packing, share: float, publish: Publish, seed: int | None = None) -> Solution:
        budget = self.budget.part(share * self.budget.limit_s, seed=seed)
        stages = search_within_limits(self.strategy, packing, budget.options)
        return run_stages(stages, Solution(packing, packing.current), budget, publish)

    def _timed(self, work: Callable[[], None]) -> None:
        began = self.budget.clock()
        work()
        self._wholes_s = max(self._wholes_s, self.budget.clock() - began)

    def _first(self) -> float:
        """Return the part of the time limit for the problem without demands."""
        packing, limit_s = self.packing, self.budget.limit_s
        tied = packing.relations is not None or packing.allowances
        share = EASIER_SHARE if tied else LIMITED_SHARE
        if self.budget.counted or not limit_s:
            return share
        # Reading the snapshot has taken some of it.
        return share * max(0.0, self.budget.left_s()) / limit_s

    def _soon_filled(self) -> bool:
        waiting = int((self.packing.home == NOWHERE).sum())
        return waiting * len(self.packing.room) <= MOST_FILLED_PAIRS

    def _hurry(self) -> bool:
        repaired_at = self.budget.clock() + repairing_s(self.packing)
        return not self.budget.counted and repaired_at > self.budget.ends


def _ignored(_solution: Solution) -> None:
    """Take no notice of a solution that is not the last one."""
