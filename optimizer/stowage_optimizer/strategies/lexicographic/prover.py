"""Proofs: each open phase has its turn, and tries the cheapest that it has left.

What comes first is asked first. While it is open, phases after it are asked for what
the best plan so far has reached, a few turns later: such a bound is void once a better
plan reaches less of something.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from stowage_optimizer.bounds.aggregate_relaxation import aggregate_bound
from stowage_optimizer.bounds.dual import dual_certificate
from stowage_optimizer.bounds.exact_fit import exact_fit_bound
from stowage_optimizer.bounds.knapsack import knapsack_bound
from stowage_optimizer.bounds.phase import Bound, Phase
from stowage_optimizer.bounds.proofs import Proof
from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.objective import Score
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.search.repair import Repairer
from stowage_optimizer.search.search_arrays import overcommitted
from stowage_optimizer.strategies.lexicographic.gap_closing import DualSlices, GapClosing
from stowage_optimizer.strategies.lexicographic.move_search import MoveSearch
from stowage_optimizer.strategies.lexicographic.open_phase import AttemptContext, OpenPhase
from stowage_optimizer.strategies.lexicographic.replica_counts import can_count, solve_counts
from stowage_optimizer.strategies.lexicographic.shared_state import ANYTHING, SharedState, WorkClock, reaches

Name = tuple[int, Phase, bool]
"""Tier, phase, and whether it is asked whatever the tiers above reach."""

LATER = 6
"""Turns that each open phase or tier has before those that come after it."""

MOVES_SHARES = (0.04, 0.2)
"""Shares of the time left for the exact search, before the dual bound and after."""

BY_KIND_SHARE = 0.5
"""Share of the time left for the program over kinds of nodes."""

DUAL_SHARES = (0.02, 0.04, 0.08, 0.16, 0.3, 0.5)
"""Shares of the time left for a dual bound, between which other phases have a turn."""

POLISHING_SHARES = (0.03, 0.06)
"""Shares of the time left for better prices that do not improve the bound."""

FIRST_LISTING_SHARE = 0.1
"""Share of the time left for an enumeration while prices still get better."""

LISTING_SHARES = (0.2, 0.6)
"""Shares of the time left for each enumeration."""

CHOOSING_SHARE = 0.1
"""Share of the time left for choosing among the patterns of a tier."""

FEW_NODES = 50
"""So many nodes are better combined at once, when all prices are known."""

COMBINING_SHARE = 0.2
"""Share of the time left for combining known patterns."""

COUNTING_SHARES = (0.4, 1.0, 1.0, 1.0)
"""Shares of the time left for CP-SAT's tries at a phase."""

FEW_COUNTS = 32
"""Counts of replicas by kind and node: with so few on overcommitted nodes, CP-SAT proves more than prices do."""

CHEAP_S = 0.01
"""What a proof that does not count its own work is charged, in a deterministic solve."""


@dataclass(slots=True)
class Attempt:
    """Tries to settle one open phase."""

    context: AttemptContext
    phase: OpenPhase
    _until: float = 0.0
    _dual: DualSlices | None = None
    _closing: GapClosing = field(init=False)
    _work: Iterator[bool] = field(init=False)

    def __post_init__(self) -> None:
        self._closing = GapClosing(self.context, self.phase)
        self._work = self._all_stages()

    def go_on(self, until: float) -> bool:
        """Work on the next stage; return whether there was one, and time for it."""
        self._until = until
        return next(self._work, False)

    def _all_stages(self) -> Iterator[bool]:
        """Do one stage after the other; yield whether there was anything to do."""
        self._knapsack()
        if self.phase.phase is Phase.PLACE and not self.phase.presumes_nothing:
            known = self.phase.bound(self.context.shared)
            self._note(exact_fit_bound(self.context.question(self.phase), known))
        yield True
        if self.phase.phase is not Phase.DISRUPT:
            yield self._by_kind()
        if self.phase.presumes_nothing:
            return
        if self.phase.tier not in self.context.searches:
            yield self._moves(MOVES_SHARES[0])
        problem = self.context.packing.problem
        if len(problem.room) * len(problem.demand) <= FEW_COUNTS and overcommitted(problem).any():
            yield self._counting(COUNTING_SHARES[0])
        yield from self._prices()
        yield self._moves(MOVES_SHARES[1])
        for share in COUNTING_SHARES:
            while not self._counting(share):
                yield self._choose(CHOOSING_SHARE)
            yield True
        while True:
            yield from self._close_in(1.0)
            yield self._choose(CHOOSING_SHARE)

    def _prices(self) -> Iterator[bool]:
        """Work on the dual bound in slices, then on the gap that it leaves."""
        dual = DualSlices(self.context, self.phase)
        if not dual.search.usable:
            return
        self._dual = dual
        yield from self._slices(dual, DUAL_SHARES, polish=False)
        while dual.search.preparing and not dual.search.finished:
            yield from self._slices(dual, DUAL_SHARES[-1:], polish=False)
        yield from self._slices(dual, POLISHING_SHARES, polish=True)
        for share in LISTING_SHARES:
            yield from self._close_in(share)
            seconds = self._seconds(COMBINING_SHARE)
            yield self._closing.recombine(dual.search, seconds)

    def _slices(self, dual: DualSlices, shares: Sequence[float], *, polish: bool) -> Iterator[bool]:
        for share in shares:
            improving = dual.run(self._seconds(share), polish=polish)
            yield True
            if len(self.context.shared.problem.room) > FEW_NODES and self._choose(CHOOSING_SHARE):
                yield True
            if dual.search.finished:
                return
            # Where prices alone get no further, patterns may at once.
            if not improving:
                yield from self._close_in(FIRST_LISTING_SHARE)

    def _close_in(self, share: float) -> Iterator[bool]:
        """List what reaches the bound, then what is next to it, while that is quick."""
        while self._dual and self._closing.list_all(self._dual.prices, self._seconds(share)):
            yield True

    def _choose(self, share: float) -> bool:
        if self._dual is None:
            return False
        return self._closing.choose(self._dual.search, self._seconds(share))

    def _knapsack(self) -> None:
        context, phase = self.context, self.phase
        bound = knapsack_bound(
            context.question(phase),
            clock=context.clock(phase, self._until),
            deadline=self._until,
            good_enough=phase.reached(context.shared),
        )
        self._note(bound)

    def _by_kind(self) -> bool:
        """Have the program over kinds of nodes prove a bound."""
        context, phase = self.context, self.phase
        asked = phase.tier, phase.phase, phase.value[: phase.tier]
        if not phase.gap(context.shared) or asked in context.limited:
            return False
        end = context.work_clock.now() + self._seconds(BY_KIND_SHARE)
        question = context.question(phase)
        deadline = context.deadline(end)
        first = aggregate_bound(question, context.clock(phase, deadline), deadline)
        context.work_clock.spend(CHEAP_S)
        if first is not None:
            context.limited.add(asked)
        if first is not None and first.bound.value < phase.bound(context.shared):
            dual = dual_certificate(question, context.packing, first.bound, first.scope)
            context.add_bound(phase, first.bound.value, Proof(first.bound.method, dual))
        return True

    def _note(self, bound: Bound | None) -> None:
        self.context.work_clock.spend(CHEAP_S)
        if bound is not None:
            self.context.add_bound(self.phase, bound.value, Proof(bound.method))

    def _moves(self, share: float) -> bool:
        context, tier = self.context, self.phase.tier
        search = context.searches.get(tier)
        if search is None:
            search = MoveSearch(context.shared, context.work_clock, context.repairer, tier)
            context.searches[tier] = search
        search.run(context.work_clock.now() + self._seconds(share))
        return True

    def _counting(self, share: float) -> bool:
        context, phase, seconds = self.context, self.phase, self._seconds(share)
        if not can_count(context, phase, seconds):
            return False
        value, bound, spent = solve_counts(context, phase, seconds)
        context.work_clock.spend(spent)
        if bound is not None:
            context.add_bound(phase, bound, Proof(ProofMethod.CP_SAT), value)
        return True

    def _seconds(self, share: float) -> float:
        return share * (self._until - self.context.work_clock.now())


@dataclass(slots=True)
class Prover:
    """Tightens the shared bounds, and offers what it finds on the way.

    Parameters
    ----------
    highest
        The first tier that it works on.
    """

    shared: SharedState
    packing: Packing
    budget: TimeBudget
    work_clock: WorkClock
    highest: int = 0
    _context: AttemptContext = field(init=False)
    _attempts: dict[Name, Attempt] = field(default_factory=dict)
    _turns: Counter[Name] = field(default_factory=Counter)
    _above: dict[int, Score] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shared = self.shared
        self._context = AttemptContext(
            shared=shared,
            packing=self.packing,
            budget=self.budget,
            work_clock=self.work_clock,
            repairer=Repairer(shared.problem, strict=shared.strict),
        )

    def prove(self, until: float) -> None:
        """Work until everything is proved, or ``until``."""
        while (now := self.work_clock.now()) < until:
            version = self.shared.version
            if self.shared.closed or self.shared.finished:
                return
            if self._step(until):
                continue
            if self.work_clock.deterministic:
                return
            self.shared.await_change(version, until - now)

    def _step(self, until: float) -> bool:
        """Continue the open phase that is next; return whether any could."""
        mine = (one for one in self._open() if one.tier >= self.highest)
        for phase in sorted(mine, key=self._turn):
            if self._attempt(phase).go_on(until):
                self._turns[self._name(phase)] += 1
                return True
        return False

    def _turn(self, phase: OpenPhase) -> int:
        """Return when a phase is next: those that had few turns, and come first."""
        after = phase.tiers_open
        # Once the program of a tier knows its patterns, each of its phases needs little.
        if not self._context.has_ready_program(phase):
            after += phase.phases_open
        return self._turns[self._name(phase)] + LATER * after

    def _attempt(self, phase: OpenPhase) -> Attempt:
        """Return the attempt at a phase; one that presumes something else is over."""
        name = self._name(phase)
        attempt = self._attempts.get(name)
        if attempt is None or attempt.phase.premises != phase.premises:
            self._attempts[name] = attempt = Attempt(self._context, phase)
        return attempt

    @staticmethod
    def _name(phase: OpenPhase) -> Name:
        return phase.tier, phase.phase, phase.presumes_nothing

    def _open(self) -> Iterator[OpenPhase]:
        """Yield the open phases of all tiers, with what was reached of all that comes before, and still is."""
        shared = self.shared
        value, bounds = shared.value, shared.bounds
        open_above = 0
        for tier in range(shared.problem.tiers):
            kept, placed, stability = value[tier]
            own = bounds[tier]
            presumed = self._presumed(tier, value) if open_above else value
            before = 0
            if shared.strict and kept < own.kept:
                yield OpenPhase(tier, Phase.KEEP, presumed, open_above)
                before = 1
            if placed < own.placed:
                yield OpenPhase(tier, Phase.PLACE, presumed, open_above, before)
                if open_above:
                    anything = (ANYTHING,) * shared.problem.tiers
                    yield OpenPhase(tier, Phase.PLACE, anything)
            if -stability > own.disruption:
                # As many pods or more: whether placing is settled does not matter.
                yield OpenPhase(tier, Phase.DISRUPT, presumed, open_above, before)
            open_above += not shared.proved(tier)

    def _presumed(self, tier: int, value: Score) -> Score:
        """Return what an early bound of ``tier`` presumes: the same as long as it may, so that its prices hold."""
        above = self._above.get(tier)
        if above is None or not reaches(value[:tier], above):
            self._above[tier] = above = value[:tier]
        return (*above, *value[tier:])
