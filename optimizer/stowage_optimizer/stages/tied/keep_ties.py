"""Plans for pods that are tied to each other: by demands, by budgets, by limits.

What fits as it is comes first: no answer is worse. Then the problem is solved without
ties: what is proved then is a bound with all of them too, and a plan that happens to
keep them is as good as proved. Where it does not, pods are pinned so that an answer is
likely to keep every tie, and the problem is solved again, with other pins each time.
Small problems are then solved exactly.

With gangs hardly any plan happens to keep the ties. So the exact search comes first if
the problem is small enough for it.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random

from stowage_optimizer.assignments.subproblem import restricted
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.problem import NOWHERE
from stowage_optimizer.model.solution import Publish, Solution
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.stages.stage import Stage
from stowage_optimizer.stages.tied.exact import FEW_COUNTS, countable, improved, manageable
from stowage_optimizer.stages.tied.tie_checker import TieChecker
from stowage_optimizer.strategies.strategy import Strategy

EASIER_SHARE = 0.7
"""Part of the time limit for the problem without what ties pods, at the most."""

LIMITED_SHARE = 0.9
"""The same where limits alone tie them, besides what the strategy knows of: mostly they are in nobody's way."""

COUNTABLE_SHARE = 0.35
"""The same where the exact search is better than rounds."""

MOST_FILLED_PAIRS = 2_000_000
"""Pairs of waiting pod and node that are looked through in about a tenth of a second:
with more, the strategy comes first where it knows of all that matters but budgets."""

FIRST_SHARE = 0.7
ROUND_SHARE = 0.25
"""Part of the time that is left for the first round after that, and for one more."""

LEAST_SHARE = 0.05
"""Part of the time limit that a round is worth starting with."""

KEPT_SHARE = 0.03
"""Part of the time limit that is kept back for repairing a plan."""

AT_ONCE_PAIRS = 1_000
"""Pairs of pod and node up to which the exact search is quicker than any round."""

MOST_IDLE_ROUNDS = 16
"""Rounds without a gain, after which no more are tried."""

REPAIRED_IN_A_SECOND = 2_000
"""Pods of a snapshot whose proposals take a second at most to repair; twice as many
take four: 2,400 took 1.1 s beside other work on 2 cores."""

DIVISIBLE_REPAIRED_PER_S = 20_000
"""The same where parts of plans keep every tie."""

WRITTEN_PER_S = 50_000
"""Pods for which a repaired plan is filled, scored and written in a second, which cannot be interrupted."""

REPAIRING_SHARE = 0.3
"""Part of the time limit that one repair may take at the most, for any to be tried."""

DETERMINISTIC_ROUNDS = 3
DETERMINISTIC_SHARE = 0.1
"""Rounds in a deterministic solve, and what each is given of the limit."""


def repairing_s(packing: Packing) -> float:
    """Return the seconds that repairing one proposal takes at the most."""
    pods = len(packing.snapshot.pods)
    if packing.divisible:
        return pods / DIVISIBLE_REPAIRED_PER_S
    return (pods / REPAIRED_IN_A_SECOND) ** 2


@dataclass(frozen=True, slots=True)
class KeepTies(Stage):
    """Pods that are tied to each other are moved so that everything is kept to."""

    strategy: Strategy
    packing: Packing

    def improve(self, known: Solution, budget: TimeBudget, publish: Publish) -> Solution:
        """Return the best solution in time that keeps every tie."""
        del known
        return _Moving(self.strategy, self.packing, budget, publish).solve()


@dataclass(slots=True)
class _Moving:
    strategy: Strategy
    packing: Packing
    budget: TimeBudget
    publish: Publish
    _easier: Packing = field(init=False)
    _given: Packing = field(init=False)
    _wholes_s: float = field(init=False, default=0.0)
    _preparing_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._easier = replace(self.packing, ties=())
        given = tuple(tie for tie in self.packing.ties if not tie.requested)
        self._given = self.packing if given == self.packing.ties else replace(self.packing, ties=given)
        self._preparing_s = repairing_s(self.packing)

    def solve(self) -> Solution:
        pods = len(self.packing.snapshot.pods)
        repairing = self.budget.without(min(pods / WRITTEN_PER_S, self.budget.limit_s / 2))
        checker = TieChecker(self.packing, repairing, self.publish, self._hurry)
        if not self.packing.divisible or self._soon_filled():
            self._timed(checker.place_as_it_is)
            checker.preempt()
        if countable(self.packing, FEW_COUNTS):
            if self._exact(checker):
                return checker.solution()
            checker.preempt()

        looking_s = 0.0

        def look(found: Solution) -> None:
            nonlocal looking_s
            began = self.budget.clock()
            # Which solutions are seen on the way depends on the time.
            if not self.budget.deterministic and began + looking_s < self.budget.ends:
                checker.bound_by(found, repair=False)
                looking_s = self.budget.clock() - began

        easier = self._solve(self._easier, self._first(), look)
        self._timed(partial(checker.bound_by, easier, repair=True))
        if checker.best == self.packing.current:
            self._timed(checker.place_as_it_is)
        self._go_on(checker)
        return checker.solution()

    def _go_on(self, checker: TieChecker) -> None:
        if checker.matches():
            if not (checker.easier.optimal or self._exact(checker)):
                self._try_again(checker)
            return
        if (manageable(self.packing, AT_ONCE_PAIRS) or countable(self.packing)) and self._exact(checker):
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

    def _try_again(self, checker: TieChecker) -> None:
        """Solve the easier problem in the time that nothing else needs."""
        share = self._share(0)
        if share:
            seed = self.budget.options.seed + 1
            easier = self._solve(self._easier, share, _ignored, seed)
            self._timed(partial(checker.bound_by, easier, repair=True))

    def _exact(self, checker: TieChecker) -> bool:
        """Let CP-SAT improve and prove bounds; return whether the best is known to be the best."""
        if checker.solution().optimal:
            return True
        self._prove(checker)
        if self._given is self.packing or checker.solution().optimal:
            return checker.solution().optimal
        # What is proved of plans within the limits is not proved of all.
        found = self._improved(self.packing, checker, 0)
        if found is None:
            return False
        before = checker.value
        self._timed(partial(checker.consider, found.assignment))
        settled = found.optimal and checker.best == found.assignment
        if settled and checker.value > before:
            self._prove(checker)
        return settled or checker.solution().optimal

    def _prove(self, checker: TieChecker) -> None:
        found = self._improved(self._given, checker, checker.proved())
        if found is not None:
            self._timed(partial(checker.attest, found))

    def _improved(self, packing: Packing, checker: TieChecker, proved: int) -> Solution | None:
        """Return what CP-SAT makes of the best; None without time, or if too large."""
        share = self._share(0)
        if not (share and (manageable(packing) or countable(packing))):
            return None
        budget = self.budget.part(share * self.budget.limit_s)
        return improved(packing, checker.best, proved, budget)

    def _rounds(self, checker: TieChecker) -> Iterator[tuple[Packing, float]]:
        """Yield problems, and the part of the time limit that each is given."""
        rng = Random(self.budget.options.seed)  # noqa: S311 - not for secrets
        number = 0
        while share := self._share(number):
            began = self.budget.clock()
            proposal = self.packing.current if number == 1 else checker.reached
            if number > 1:
                pairs = zip(self.packing.current, proposal, checker.best, strict=True)
                proposal = tuple(best if home is None else node for home, node, best in pairs)
            part = _pinned(self.packing, proposal, self.budget, rng if number > 1 else None)
            self._preparing_s = self.budget.clock() - began
            yield part, share
            number += 1

    def _share(self, number: int) -> float:
        """Return the part of the limit for round ``number``, 0 if there is none."""
        if self.budget.deterministic:
            return DETERMINISTIC_SHARE if number < DETERMINISTIC_ROUNDS else 0.0
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
        return self.strategy.solve(packing, self.budget.part(share * self.budget.limit_s, seed=seed), publish)

    def _timed(self, work: Callable[[], None]) -> None:
        began = self.budget.clock()
        work()
        self._wholes_s = max(self._wholes_s, self.budget.clock() - began)

    def _first(self) -> float:
        """Return the part of the time limit for the problem without ties."""
        limit_s = self.budget.limit_s
        share = LIMITED_SHARE if all(tie.native for tie in self._given.ties) else EASIER_SHARE
        if countable(self.packing):
            share = COUNTABLE_SHARE
        if self.budget.deterministic or not limit_s:
            return share
        # Reading the snapshot has taken some of it, and repairing the plan takes some.
        share = min(share, max(0.5, 1 - self._preparing_s / limit_s))
        return share * max(0.0, self.budget.left_s()) / limit_s

    def _soon_filled(self) -> bool:
        waiting = int((self.packing.home == NOWHERE).sum())
        return waiting * len(self.packing.room) <= MOST_FILLED_PAIRS

    def _hurry(self) -> bool:
        repaired_at = self.budget.clock() + repairing_s(self.packing)
        return not self.budget.deterministic and repaired_at > self.budget.ends


def _ignored(_solution: Solution) -> None:
    """Take no notice of a solution that is not the last one."""


def _pinned(packing: Packing, proposal: Assignment, budget: TimeBudget, rng: Random | None) -> Packing:
    """Return ``packing`` without ties, with pods pinned near ``proposal`` instead; see `Tie.pinned`."""
    pins: dict[int, Collection[int]] = {}
    for tie in packing.ties:
        for index, nodes in tie.pinned(packing, proposal, budget, rng).items():
            pins[index] = nodes if index not in pins else frozenset(pins[index]).intersection(nodes)
    stay = {index for index, nodes in pins.items() if not nodes}
    kinds = {one: number for number, one in enumerate(packing.kinds)}
    kind = packing.kind.copy()
    parts: dict[tuple[int, frozenset[int], int | None], int] = {}
    for index, nodes in pins.items():
        if index in stay:
            continue
        home, allowed, number = packing.current[index], frozenset(nodes), int(kind[index])
        # What replicas may come to is looked up once.
        part = number, allowed, None if home in allowed else home
        if part not in parts:
            whole = packing.kinds[number]
            eligible = tuple(one for one in whole.eligible if one in allowed or one == home)
            parts[part] = kinds.setdefault(replace(whole, eligible=eligible), len(kinds))
        kind[index] = parts[part]
    free = replace(packing, kinds=tuple(kinds), kind=kind, ties=())
    return restricted(free, {*range(len(kind))} - stay, packing.current)
