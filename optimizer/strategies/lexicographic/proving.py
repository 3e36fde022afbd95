"""Proofs: for each phase of each tier the cheapest first, then dearer ones.

A phase is asked about only where everything that comes before it is settled, so that no
later find can take the ground from under a proof. What is asked again and again while
the search goes on is remembered by what it depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from optimizer.bounds.certificate import written
from optimizer.bounds.dual import MOST_ROUNDS, dual_bound
from optimizer.bounds.knapsack import knapsack_bound
from optimizer.bounds.question import Phase, Question
from optimizer.model.certificate import ProofMethod
from optimizer.model.options import SolveOptions
from optimizer.model.packing import Packing
from optimizer.search.mending import Mender
from optimizer.search.problem import Problem
from optimizer.search.scoring import Value
from optimizer.search.slack import without_slack
from optimizer.strategies.bounds import Proof
from optimizer.strategies.lexicographic.board import Board
from optimizer.strategies.lexicographic.counting import Counting
from optimizer.strategies.lexicographic.exact import MoveSearch
from optimizer.strategies.lexicographic.pace import Pace
from optimizer.strategies.objective import TierScore
from optimizer.strategies.strategy import Clock

MOST_PATTERN_ENTRIES = 4_000_000
"""Nodes times kinds from which the patterns of a dual bound take too much memory."""

MOVES_SHARES = (0.04, 0.2)
"""Shares of the time left for the exact search, before the dual bound and after."""

ANYTHING = (0, 0, -(2**40))
"""What every assignment reaches in a tier."""

COUNTED_ROUNDS = 40
"""Rounds of column generation where work is counted."""

COUNTED_ROUNDS_S = 0.05
"""What they are charged."""

NEVER_S = 10_000.0
"""Later than any solve ends."""

DUAL_SHARE = 0.85
"""Share of the time left for a dual bound, which cannot be resumed."""

CHEAP_S = 0.01
"""What a proof that does not count its own work is charged, where work is counted."""

COUNTING_SHARES = (0.4, 1.0, 1.0, 1.0)
"""Shares of the time left for CP-SAT's tries at a phase."""


@dataclass(frozen=True, slots=True)
class Open:
    """A phase that is not settled yet, and what has been reached."""

    tier: int
    phase: Phase
    value: Value

    def question(self, problem: Problem) -> Question:
        """Return what the bounds are asked."""
        reached = [TierScore(*scores) for scores in self.value]
        return Question(problem, self.tier, self.phase, reached)

    @property
    def ground(self) -> tuple[object, ...]:
        """Everything that the answer depends on."""
        earlier = self.value[self.tier][: self.phase.value]
        return (self.tier, self.phase, self.value[: self.tier], earlier)


Stage = Callable[[Open, float], bool]
"""Tries to settle a phase until a time; tells whether there was time to try."""


@dataclass(slots=True)
class Prover:
    """Tightens the board's bounds, and offers what it finds on the way.

    Parameters
    ----------
    board
        Where everything goes.
    packing, options
        The problem, and how to solve it.
    pace
        This thread's time.
    """

    board: Board
    packing: Packing
    options: SolveOptions
    pace: Pace
    _mender: Mender = field(init=False)
    _problem: Problem = field(init=False)
    _searches: dict[int, MoveSearch] = field(default_factory=dict)
    _tried: dict[tuple[object, ...], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._mender = Mender(self.board.problem, strict=self.board.strict)
        self._problem = without_slack(self.board.problem)

    def prove(self, until: float) -> None:
        """Work until everything is proved, or ``until``."""
        while (now := self.pace.now()) < until:
            version = self.board.version
            if self.board.closed or self.board.finished:
                return
            if self._step(until):
                continue
            if self.pace.counted:
                return
            self.board.await_news(version, until - now)

    def _step(self, until: float) -> bool:
        """Try the next stage of the first open phase that has one left."""
        for question in self._open():
            tried = self._tried.get(question.ground, 0)
            stages = self._stages(question)
            if tried < len(stages) and stages[tried](question, until):
                self._tried[question.ground] = tried + 1
                return True
        return False

    def _open(self) -> Iterator[Open]:
        """Yield the open phases of the first tier that is not proved.

        The disturbance is asked about also where placing is not settled: its bound
        holds for every assignment that places as many or more.
        """
        board = self.board
        value = board.value
        for tier in range(board.problem.tiers):
            if board.proved(tier):
                continue
            kept, placed, calm = value[tier]
            bounds = board.bounds[tier]
            if board.strict and kept < bounds.kept:
                yield Open(tier, Phase.KEEP, value)
                return
            if placed < bounds.placed:
                yield Open(tier, Phase.PLACE, value)
            if -calm > bounds.disturbed:
                yield Open(tier, Phase.DISTURB, value)
            yield from self._below(tier)
            return

    def _below(self, tier: int) -> Iterator[Open]:
        """Yield what holds for the tiers below whatever the tiers above reach."""
        board = self.board
        for below in range(tier + 1, board.problem.tiers):
            if board.value[below][1] < board.bounds[below].placed:
                yield Open(below, Phase.PLACE, (ANYTHING,) * board.problem.tiers)

    def _stages(self, question: Open) -> tuple[Stage, ...]:
        if question.value[0] == ANYTHING:
            return (self._knapsack,)
        return (
            self._knapsack,
            self._moves(MOVES_SHARES[0]),
            self._dual,
            self._moves(MOVES_SHARES[1]),
            *(self._counting(share) for share in COUNTING_SHARES),
        )

    def _knapsack(self, question: Open, until: float) -> bool:
        asked = question.question(self._problem)
        bound = knapsack_bound(
            asked, clock=self._clock(question, until), deadline=until
        )
        self.pace.spend(CHEAP_S)
        if bound is not None:
            self._limit(question, bound.value, Proof(bound.method))
        return True

    def _moves(self, share: float) -> Stage:
        def stage(question: Open, until: float) -> bool:
            search = self._searches.get(question.tier)
            if search is None:
                search = MoveSearch(self.board, self.pace, self._mender, question.tier)
                self._searches[question.tier] = search
            now = self.pace.now()
            search.run(now + share * (until - now))
            return True

        return stage

    def _dual(self, question: Open, until: float) -> bool:
        problem = self.board.problem
        if problem.room.shape[0] * problem.demand.shape[0] > MOST_PATTERN_ENTRIES:
            return True
        kept, placed, calm = question.value[question.tier]
        good_enough = (kept, placed, -calm)[question.phase.value]
        asked = question.question(self._problem)
        now = self.pace.now()
        until = now + DUAL_SHARE * (until - now)
        rounds = MOST_ROUNDS
        if self.pace.counted:
            # Time must not tell, also not that of the linear programs in between.
            until, rounds = now + NEVER_S, COUNTED_ROUNDS
        bound = dual_bound(
            asked,
            self.board.assignment.astype(np.int64),
            clock=self._clock(question, until),
            deadline=until,
            good_enough=good_enough,
            rounds=rounds,
        )
        self.pace.spend(COUNTED_ROUNDS_S)
        if bound is not None:
            proof = Proof(bound.method, written(asked, self.packing, bound))
            self._limit(question, bound.value, proof)
        return True

    def _counting(self, share: float) -> Stage:
        def stage(question: Open, until: float) -> bool:
            seconds = share * (until - self.pace.now())
            counting = Counting(self.board, self.packing, self.options, self._mender)
            if not counting.worth_trying(question.tier, seconds):
                return False
            limit, spent = counting.solve(question.tier, question.phase, seconds)
            self.pace.spend(spent)
            if limit is not None:
                self._limit(question, limit, Proof(ProofMethod.CP_SAT))
            return True

        return stage

    def _clock(self, question: Open, until: float) -> Clock:
        """Return a clock that is past ``until`` once the question is idle."""

        def now() -> float:
            idle = self.board.closed or not self._still_open(question)
            return until + 1.0 if idle else self.pace.now()

        return now

    def _still_open(self, question: Open) -> bool:
        value, tier = self.board.value, question.tier
        kept, placed, calm = value[tier]
        bounds = self.board.bounds[tier]
        if question.phase is Phase.KEEP:
            return kept < bounds.kept
        if question.phase is Phase.PLACE:
            return placed < bounds.placed
        return -calm > bounds.disturbed and replace(question, value=value).ground == (
            question.ground
        )

    def _limit(self, question: Open, limit: int, proof: Proof) -> None:
        board, tier = self.board, question.tier
        if question.phase is Phase.KEEP:
            board.limit_kept(tier, limit)
        elif question.phase is Phase.PLACE:
            board.limit_placed(tier, limit, proof)
        else:
            board.limit_disturbed(tier, limit, question.value[tier][1], proof)
