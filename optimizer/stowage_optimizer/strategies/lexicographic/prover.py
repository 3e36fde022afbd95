"""Proofs: each open phase has its turn, and tries the cheapest that it has left.

What comes first is asked first. While it is open, phases after it are asked for what
the best plan so far has reached, a few turns later: such a limit is void once a better
plan reaches less of something.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from stowage_optimizer.bounds.question import Phase
from stowage_optimizer.model.budget import Budget
from stowage_optimizer.model.objective import Score
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.search.mending import Mender
from stowage_optimizer.strategies.lexicographic.attempt import Attempt
from stowage_optimizer.strategies.lexicographic.attempt_context import AttemptContext, OpenPhase
from stowage_optimizer.strategies.lexicographic.shared_state import ANYTHING, SharedState, WorkClock, reaches

Name = tuple[int, Phase, bool]
"""Tier, phase, and whether it is asked whatever the tiers above reach."""

LATER = 6
"""Turns that each open phase or tier has before those that come after it."""


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
    budget: Budget
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
            mender=Mender(shared.problem, strict=shared.strict),
        )

    def prove(self, until: float) -> None:
        """Work until everything is proved, or ``until``."""
        while (now := self.work_clock.now()) < until:
            version = self.shared.version
            if self.shared.closed or self.shared.finished:
                return
            if self._step(until):
                continue
            if self.work_clock.counted:
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
        """Return what an early limit of ``tier`` presumes: the same as long as it may, so that its prices hold."""
        above = self._above.get(tier)
        if above is None or not reaches(value[:tier], above):
            self._above[tier] = above = value[:tier]
        return (*above, *value[tier:])
