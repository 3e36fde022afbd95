"""Everything that is tried to settle one phase, the cheapest first, stage by stage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from optimizer.bounds.bound import Bound
from optimizer.bounds.certificate import written
from optimizer.bounds.dual import DualSearch
from optimizer.bounds.enumeration import enumeration_bound
from optimizer.bounds.exact_fit import exact_fit_bound
from optimizer.bounds.knapsack import knapsack_bound
from optimizer.bounds.prices import Prices
from optimizer.bounds.question import Phase
from optimizer.bounds.recombination import recombine
from optimizer.model.certificate import ProofMethod
from optimizer.model.options import SolveOptions
from optimizer.model.packing import Packing
from optimizer.search.mending import Mender
from optimizer.search.problem import Indices, Problem
from optimizer.strategies.bounds import Proof
from optimizer.strategies.lexicographic.board import Board
from optimizer.strategies.lexicographic.counting import Counting
from optimizer.strategies.lexicographic.exact import MoveSearch
from optimizer.strategies.lexicographic.open_phase import OpenPhase
from optimizer.strategies.lexicographic.pace import Pace

MOST_PATTERN_ENTRIES = 1_000_000
"""Nodes times kinds from which the patterns of a dual bound take too much memory."""

MOVES_SHARES = (0.04, 0.2)
"""Shares of the time left for the exact search, before the dual bound and after."""

DUAL_SHARES = (0.02, 0.04, 0.08, 0.16, 0.3, 0.5)
"""Shares of the time left for a dual bound, between which other phases have a turn."""

POLISHING_SHARES = (0.03, 0.06)
"""Shares of the time left for better prices that do not improve the bound."""

FIRST_LISTING_SHARE = 0.1
"""Share of the time left for an enumeration while prices still get better."""

LISTING_SHARES = (0.2, 0.6)
"""Shares of the time left for each enumeration."""

COMBINING_SHARE = 0.2
"""Share of the time left for combining known patterns."""

COUNTING_SHARES = (0.4, 1.0, 1.0, 1.0)
"""Shares of the time left for CP-SAT's tries at a phase."""

COUNTED_ROUNDS = 40
"""Rounds of a slice of the dual bound where work is counted."""

COUNTED_ROUNDS_S = 0.05
"""What they are charged."""

COUNTED_LISTING_S = 0.2
"""What an enumeration may take and is charged, in CP-SAT's own seconds."""

CHEAP_S = 0.01
"""What a proof that does not count its own work is charged, where work is counted."""

NEVER_S = 10_000.0
"""Later than any solve ends."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What all attempts of one solve work with.

    Parameters
    ----------
    board
        Where bounds and finds go.
    packing, options
        The problem, and how to solve it.
    pace
        The thread's time.
    problem
        The board's problem, without room that nothing can use.
    mender
        Makes finds whole.
    searches
        Exact searches by tier, which several phases go on with.
    duals
        Searches for prices, by tier and phase, which later ones begin with.
    """

    board: Board
    packing: Packing
    options: SolveOptions
    pace: Pace
    problem: Problem
    mender: Mender

    searches: dict[int, MoveSearch] = field(default_factory=dict)
    duals: dict[tuple[int, Phase], DualSearch] = field(default_factory=dict)


@dataclass(slots=True)
class Attempt:
    """Tries to settle one open phase.

    Parameters
    ----------
    bench
        What it works with.
    phase
        The phase.
    """

    bench: Bench
    phase: OpenPhase
    stages: int = 0
    """How many stages were worked on so far."""
    _until: float = 0.0
    _end: float = 0.0
    _bound: Bound | None = None
    _given_up: int | None = None
    _listed_at: Prices | None = None
    _spent_s: float = 0.0
    _work: Iterator[bool] = field(init=False)

    def __post_init__(self) -> None:
        self._work = self._all_stages()

    def go_on(self, until: float) -> bool:
        """Work on the next stage; tell whether there was one, and time for it."""
        self._until = until
        if not next(self._work, False):
            return False
        self.stages += 1
        return True

    def _all_stages(self) -> Iterator[bool]:
        """Do one stage after the other; yield whether there was anything to do."""
        self._knapsack()
        yield True
        if self.phase.presumes_nothing:
            return
        if self.phase.tier not in self.bench.searches:
            yield self._moves(MOVES_SHARES[0])
        if self.phase.phase is Phase.PLACE:
            yield self._exact_fit()
        search = self._search()
        if search is not None:
            yield from self._prices(search)
            for share in LISTING_SHARES:
                yield from self._close_in(share)
                yield self._recombine(search)
        yield self._moves(MOVES_SHARES[1])
        for share in COUNTING_SHARES:
            while not (tried := self._counting(share)):
                yield False
            yield tried
        while True:
            yield from self._close_in(1.0)
            yield False

    def _knapsack(self) -> None:
        board = self.bench.board
        self._end = self._until
        bound = knapsack_bound(
            self.phase.question(self.bench.problem),
            clock=self._now,
            deadline=self._end,
            good_enough=self.phase.reached(board),
        )
        self.bench.pace.spend(CHEAP_S)
        if bound is not None:
            self._limit(bound.value, Proof(bound.method))

    def _exact_fit(self) -> bool:
        bench = self.bench
        bound = exact_fit_bound(
            self.phase.question(bench.problem), self.phase.limit(bench.board)
        )
        bench.pace.spend(CHEAP_S)
        if bound is not None:
            self._limit(bound.value, Proof(bound.method))
        return True

    def _moves(self, share: float) -> bool:
        bench, tier = self.bench, self.phase.tier
        search = bench.searches.get(tier)
        if search is None:
            search = MoveSearch(bench.board, bench.pace, bench.mender, tier)
            bench.searches[tier] = search
        now = bench.pace.now()
        search.run(now + share * (self._until - now))
        return True

    def _search(self) -> DualSearch | None:
        """Begin a search for prices; None where it would take too much memory."""
        bench = self.bench
        entries = bench.problem.room.shape[0] * bench.problem.demand.shape[0]
        if entries > MOST_PATTERN_ENTRIES:
            return None
        key = (self.phase.tier, self.phase.phase)
        search = DualSearch(
            self.phase.question(bench.problem),
            bench.board.assignment.astype(np.int64),
            self._now,
            bench.duals.get(key),
        )
        bench.duals[key] = search
        return search

    def _prices(self, search: DualSearch) -> Iterator[bool]:
        """Work on the dual bound in slices, at last for the sake of its prices."""
        for polish, shares in ((False, DUAL_SHARES), (True, POLISHING_SHARES)):
            for share in shares:
                limit = self._bound and self._bound.value
                self._slice(search, share, polish=polish)
                yield True
                if search.finished:
                    break
                # Where prices alone get no further, patterns may at once.
                stuck = self._bound and self._bound.value == limit
                if stuck and not search.descending:
                    yield from self._close_in(FIRST_LISTING_SHARE)

    def _slice(self, search: DualSearch, share: float, *, polish: bool) -> None:
        bench, rounds = self.bench, COUNTED_ROUNDS
        now = bench.pace.now()
        self._end = now + share * (self._until - now)
        if bench.pace.counted:
            # Time must not tell, also not that of the linear programs in between.
            self._end = now + NEVER_S
        else:
            rounds = int(NEVER_S)
        bound = search.run(
            self._end,
            good_enough=self.phase.reached(bench.board),
            rounds=rounds,
            polish=polish,
        )
        bench.pace.spend(COUNTED_ROUNDS_S)
        if bound is None:
            return
        self._bound = bound
        if self._better(bound.value):
            asked = self.phase.question(bench.problem)
            proof = Proof(bound.method, written(asked, bench.packing, bound))
            self._limit(bound.value, proof)

    def _close_in(self, share: float) -> Iterator[bool]:
        """List what reaches the limit, then what is next to it, while that is quick."""
        while self.phase.gap(self.bench.board) and self._listing(share):
            yield True

    def _listing(self, share: float) -> bool:
        """Ask for the limit itself: reach it, or prove the next; tell if it was."""
        bench, phase = self.bench, self.phase
        aim = phase.limit(bench.board)
        prices = self._bound.prices if self._bound else None
        if prices is None:
            return False
        now = bench.pace.now()
        seconds = share * (self._until - now)
        if (
            self._given_up == aim
            and self._listed_at is prices
            and seconds < 2 * self._spent_s
        ):
            return False
        self._end = now + seconds
        counted = bench.pace.counted
        closed = enumeration_bound(
            phase.question(bench.problem),
            prices,
            aim,
            clock=self._now,
            deadline=now + NEVER_S if counted else self._end,
            deterministic_s=COUNTED_LISTING_S if counted else None,
        )
        bench.pace.spend(COUNTED_LISTING_S)
        before = (aim, bench.board.version)
        if closed is not None and closed.bound is not None:
            self._limit(closed.bound.value, Proof(closed.bound.method))
        if closed is not None:
            self._offer(closed.nodes)
        # On overcommitted nodes what was found may not be feasible.
        if before != (phase.limit(bench.board), bench.board.version):
            return True
        self._given_up, self._listed_at, self._spent_s = aim, prices, seconds
        return False

    def _recombine(self, search: DualSearch) -> bool:
        """Put the patterns of a dual bound together in other ways."""
        bench = self.bench
        if not self.phase.gap(bench.board):
            return False
        now = bench.pace.now()
        self._end = now + COMBINING_SHARE * (self._until - now)
        counted = bench.pace.counted
        found = recombine(
            search,
            bench.board.assignment.astype(np.int64),
            self.phase.better(bench.board),
            clock=self._now,
            deadline=now + NEVER_S if counted else self._end,
            deterministic_s=COUNTED_LISTING_S if counted else None,
        )
        bench.pace.spend(COUNTED_LISTING_S)
        self._offer(found)
        return True

    def _offer(self, nodes: Indices | None) -> None:
        """Offer what a bound found on the way; tiers below stay where they are."""
        if nodes is None:
            return
        board = self.bench.board
        below = board.problem.tier[board.problem.kind] > self.phase.tier
        found = np.where(below, board.problem.home, nodes)
        board.offer(found, self.bench.mender)

    def _counting(self, share: float) -> bool:
        bench, phase = self.bench, self.phase
        seconds = share * (self._until - bench.pace.now())
        counting = Counting(bench.board, bench.packing, bench.options, bench.mender)
        if not counting.worth_trying(phase.tier, seconds):
            return False
        limit, spent = counting.solve(phase.tier, phase.phase, seconds)
        bench.pace.spend(spent)
        if limit is not None:
            self._limit(limit, Proof(ProofMethod.CP_SAT))
        return True

    def _now(self) -> float:
        """Return the time, past the stage's end once nobody needs its answer."""
        board = self.bench.board
        idle = board.closed or not self.phase.still_open(board)
        return self._end + 1.0 if idle else self.bench.pace.now()

    def _better(self, limit: int) -> bool:
        known = self.phase.limit(self.bench.board)
        return limit > known if self.phase.phase is Phase.DISTURB else limit < known

    def _limit(self, limit: int, proof: Proof) -> None:
        board, tier = self.bench.board, self.phase.tier
        if self.phase.phase is Phase.KEEP:
            board.limit_kept(tier, limit)
        elif self.phase.phase is Phase.PLACE:
            board.limit_placed(tier, limit, proof)
        else:
            board.limit_disturbed(tier, limit, self.phase.placed, proof)
