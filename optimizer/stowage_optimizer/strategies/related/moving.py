"""Plans that also move the pods with demands on other pods.

First the problem is solved without what they demand: what is proved then is a limit
with demands too, and a plan that happens to keep them all is as good as proved. Where
it does not keep them, each such pod gets domains to keep to, and the problem is solved
again, with other domains each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from random import Random

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.constraints.relaxing import relaxed
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.model.solution import Solution
from stowage_optimizer.strategies.budget import Budget
from stowage_optimizer.strategies.finish.finishing import finished
from stowage_optimizer.strategies.related.checker import RelationChecker
from stowage_optimizer.strategies.related.exact import improved, manageable
from stowage_optimizer.strategies.related.pinning import domains_for, perturbed, pinned
from stowage_optimizer.strategies.strategy import Publish, Strategy

EASIER_SHARE = 0.7
"""Part of the time limit for the problem without demands, at the most."""

FIRST_SHARE = 0.7
ROUND_SHARE = 0.25
"""Part of the time that is left for the first round after that, and for one more."""

LEAST_SHARE = 0.05
"""Part of the time limit that a round is worth starting with."""

KEPT_SHARE = 0.03
"""Part of the time limit that is kept back for making a plan whole."""

MOST_IDLE_ROUNDS = 16
"""Rounds without a gain, after which no more are tried."""

REPAIRED_IN_A_SECOND = 2_000
"""Pods of a snapshot whose proposals take a second at most to repair; twice as many
take four: 2,400 took 1.1 s beside other work on 2 cores."""

COUNTED_ROUNDS = 3
COUNTED_SHARE = 0.1
"""Rounds where work is counted, and what each is given of the limit."""


def moved(
    strategy: Strategy, packing: Packing, budget: Budget, publish: Publish
) -> Solution:
    """Return the best solution found in time that keeps every relation."""
    return _Moving(strategy, packing, budget, publish).solve()


@dataclass(slots=True)
class _Moving:
    strategy: Strategy
    packing: Packing
    budget: Budget
    publish: Publish
    _snapshot: Snapshot = field(init=False)
    _wholes_s: float = field(init=False, default=0.0)
    _preparing_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._snapshot = self.packing.snapshot
        self._preparing_s = self._repairing_s()

    def solve(self) -> Solution:
        checker = RelationChecker(self.packing, self.budget, self.publish, self._hurry)
        checker.publish(checker.solution())

        def look(found: Solution) -> None:
            # Which solutions are seen on the way depends on the time.
            if not self.budget.counted:
                checker.limit(found, repair=False)

        easier = self._solve(relaxed(self._snapshot), self._first(), look)
        self._timed(partial(checker.limit, easier, repair=True))
        self._go_on(checker)
        return checker.solution()

    def _go_on(self, checker: RelationChecker) -> None:
        if checker.matches():
            if not checker.easier.optimal:
                self._try_again(checker)
            return
        idle, tried = 0, False
        for snapshot, share in self._rounds(checker):
            before = checker.value
            proposal = self._solve(snapshot, share, _ignored).on(self.packing)
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
            easier = self._solve(relaxed(self._snapshot), share, _ignored, seed)
            self._timed(partial(checker.limit, easier, repair=True))

    def _exact(self, checker: RelationChecker) -> bool:
        """Let CP-SAT improve and prove limits; return whether all is proved."""
        share = self._share(0)
        if checker.matches() or not (share and manageable(self.packing)):
            return False
        budget = self.budget.part(share * self.budget.limit_s)
        found = improved(self.packing, checker.best, checker.proved(), budget)
        self._timed(partial(checker.attest, found))
        return checker.solution().optimal

    def _rounds(self, checker: RelationChecker) -> Iterator[tuple[Snapshot, float]]:
        """Yield problems, and the part of the time limit that each is given."""
        rng = Random(self.budget.options.seed)  # noqa: S311 - not for secrets
        number = 0
        while share := self._share(number):
            if number == 1:
                # As if pods with demands could not move at all.
                yield self._snapshot, share
            else:
                yield self._pinned(checker, rng if number else None), share
            number += 1

    def _pinned(self, checker: RelationChecker, rng: Random | None) -> Snapshot:
        """Return the problem with each pod in the domains of some proposal."""
        proposal = checker.reached
        if rng is not None:
            proposal = perturbed(self.packing, proposal, checker.best, rng)
        began = self.budget.clock()
        proposal = domains_for(self.packing, proposal, self.budget.policy)
        snapshot = pinned(self.packing, proposal)
        self._preparing_s = self.budget.clock() - began
        return snapshot

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

    def _solve(
        self,
        snapshot: Snapshot,
        share: float,
        publish: Publish,
        seed: int | None = None,
    ) -> Solution:
        budget = self.budget.part(share * self.budget.limit_s, seed=seed)
        return finished(self.strategy, reduce_snapshot(snapshot), budget, publish)

    def _timed(self, work: Callable[[], None]) -> None:
        began = self.budget.clock()
        work()
        self._wholes_s = max(self._wholes_s, self.budget.clock() - began)

    def _first(self) -> float:
        """Return the part of the time limit for the problem without demands."""
        limit_s = self.budget.limit_s
        if self.budget.counted or not limit_s:
            return EASIER_SHARE
        # Reading the snapshot has taken some of it.
        return EASIER_SHARE * max(0.0, self.budget.left_s()) / limit_s

    def _hurry(self) -> bool:
        repaired_at = self.budget.clock() + self._repairing_s()
        return not self.budget.counted and repaired_at > self.budget.ends

    def _repairing_s(self) -> float:
        """Return the seconds that repairing one proposal takes at the most."""
        return (len(self._snapshot.pods) / REPAIRED_IN_A_SECOND) ** 2


def _ignored(_solution: Solution) -> None:
    """Take no notice of a solution that is not the last one."""
