"""What search and proof share: the best assignment, bounds on any, and time."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from stowage_optimizer.bounds.phase import Phase
from stowage_optimizer.bounds.proofs import Proof, TierBounds
from stowage_optimizer.model.objective import Score, TierScore, value_of
from stowage_optimizer.model.options import Clock
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.problem import NOWHERE, Flags, Indices, Problem
from stowage_optimizer.search.repair import Repairer

DETERMINISTIC_RATE = 100_000.0
"""Steps that count as one second in a deterministic solve; a third of what a busy core
does, so that the wall-clock kill stays far off."""

FIRST_RATE = 100_000.0
"""Steps a second until the first are measured; too few are made good for at once."""

FEWEST = 64
"""Steps of the shortest slice."""


@dataclass(slots=True)
class WorkClock:
    """Time as one thread of work sees it.

    Parameters
    ----------
    deterministic
        Time passes only by work done: the same work, the same answer.
    """

    clock: Clock
    deterministic: bool
    _rate: float = FIRST_RATE
    _worked_s: float = field(default=0.0)

    def now(self) -> float:
        """Return seconds since an arbitrary, fixed moment."""
        return self._worked_s if self.deterministic else self.clock()

    def steps(self, seconds: float) -> int:
        """Return how many steps are worth ``seconds``."""
        rate = DETERMINISTIC_RATE if self.deterministic else self._rate
        return max(FEWEST, int(seconds * rate))

    def done(self, steps: int, began: float) -> None:
        """Note that ``steps`` were made since ``began``."""
        if self.deterministic:
            self._worked_s += steps / DETERMINISTIC_RATE
            return
        seconds = self.clock() - began
        if seconds > 0:
            # Slices grow at most fourfold, even with a coarse clock.
            self._rate = min(0.5 * self._rate + 0.5 * steps / seconds, 4 * self._rate)

    def spend(self, seconds: float) -> None:
        """Note work that counts itself in seconds."""
        if self.deterministic:
            self._worked_s += seconds


ANYTHING = TierScore(0, 0, -(2**40))
"""What every assignment reaches in a tier."""


@dataclass(frozen=True, slots=True)
class ConditionalBound:
    """What no assignment in question can beat.

    Parameters
    ----------
    least
        Which ones are in question: those that have as much of each number in each tier.
    value
        In the phase's own numbers.
    """

    tier: int
    phase: Phase
    least: Score
    value: int
    proof: Proof

    def holds_for(self, value: Score) -> bool:
        """Return whether an assignment of this value is in question."""
        return reaches(value, self.least)


def reaches(value: Score, least: Score) -> bool:
    """Return whether each number of ``value`` is as large as that of ``least``."""
    return all(
        have >= want
        for having, wanting in zip(value, least, strict=True)
        for have, want in zip(having, wanting, strict=True)
    )


@dataclass(slots=True)
class SharedState:
    """The incumbent and the bounds of one solve, shared between threads.

    The bounds of a tier hold for all assignments that are as good as the incumbent in
    each number of the tiers above. A better incumbent may be worse in one of them, as
    it may move more pods to place one more: bounds that need that number are void then.

    Parameters
    ----------
    strict
        Whether running pods are kept before pending ones of their tier are placed.
    relaxed
        What the bounds are asked about, once that is known.
    """

    problem: Problem
    strict: bool
    bounds: list[TierBounds]
    relaxed: Packing | None = None
    assignment: Indices = field(init=False)
    value: Score = field(init=False)
    version: int = 0
    closed: bool = False
    failure: Exception | None = None
    _trivial: list[TierBounds] = field(init=False)
    _conditional: list[ConditionalBound] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _on_close: list[Callable[[], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.assignment = self.problem.home
        self._trivial = [replace(one) for one in self.bounds]
        self.value = value_of(self.problem, self.assignment, strict=self.strict)

    def offer(self, candidate: Indices, repairer: Repairer) -> bool:
        """Take ``candidate``, repaired, if it is better; return whether it was."""
        repaired = repairer.repair(candidate)
        value = value_of(self.problem, repaired, strict=self.strict)
        with self._changed:
            if self.closed or value <= self.value:
                return False
            self.assignment, self.value = repaired, value
            self.bounds = self._bounds()
            self.version += 1
            self._changed.notify_all()
            return True

    def snapshot(self) -> tuple[Score, Indices, list[TierBounds], int]:
        """Return the best value, its assignment, what is proved of it, and the version of these."""
        with self._changed:
            return self.value, self.assignment, [replace(one) for one in self.bounds], self.version

    def add_bound(self, bound: ConditionalBound) -> None:
        """Note what is proved; it counts while the incumbent is in question."""
        with self._changed:
            self._conditional.append(bound)
            self.bounds = self._bounds()
            self._changed.notify_all()

    def _bounds(self) -> list[TierBounds]:
        """Return the best bounds whose assignments the incumbent is one of."""
        bounds = [replace(one) for one in self._trivial]
        for bound in self._conditional:
            if bound.holds_for(self.value):
                _tighten(bounds[bound.tier], bound)
        return bounds

    def placing_proved(self, tier: int) -> bool:
        """Return whether the tier's first phase is at its bound."""
        kept, placed, _ = self.value[tier]
        bounds = self.bounds[tier]
        return (not self.strict or kept >= bounds.kept) and placed >= bounds.placed

    def proved(self, tier: int) -> bool:
        """Return whether ``tier`` and all tiers above are optimal."""
        return all(
            self.placing_proved(above) and -self.value[above][2] <= self.bounds[above].disruption
            for above in range(tier + 1)
        )

    @property
    def finished(self) -> bool:
        """Whether nothing is left to find or to prove."""
        return self.proved(self.problem.tiers - 1)

    @property
    def ended(self) -> bool:
        """Whether the work is over, finished or not."""
        return self.closed or self.finished

    def frozen(self, tier: int) -> Flags:
        """Return which items stay at home in every optimal answer, by tiers above.

        Returns
        -------
        Flags
            Shape ``(items,)``: running pods of proved tiers without disruption.
        """
        undisrupted = -1
        for above in range(tier):
            if self.proved(above) and self.value[above][2] == 0:
                undisrupted = above
        tiers = self.problem.tier[self.problem.kind]
        frozen: Flags = (tiers <= undisrupted) & (self.problem.home != NOWHERE)
        return frozen

    def close(self, failure: Exception | None = None) -> None:
        """End the work: nothing is accepted any more, and all threads are woken."""
        with self._changed:
            self.closed = True
            self.failure = self.failure or failure
            stops, self._on_close = self._on_close, []
            self._changed.notify_all()
        for stop in stops:
            stop()

    def on_close(self, stop: Callable[[], None]) -> None:
        """Have ``stop`` called when the work ends; at once if it has."""
        with self._changed:
            if not self.closed:
                self._on_close.append(stop)
                return
        stop()

    def await_change(self, seen: int, timeout_s: float) -> None:
        """Return at a version after ``seen``, the end of the work, or the time-out."""
        with self._changed:
            self._changed.wait_for(lambda: self.version != seen or self.ended, timeout_s)

    @property
    def filled(self) -> int:
        """How many tiers have placed as many pods as can be."""
        return sum(map(self.placing_proved, range(self.problem.tiers)))

    def await_filled(self, known: int, timeout_s: float) -> None:
        """Return when more tiers than ``known`` are filled, or at the end of it."""
        with self._changed:
            self._changed.wait_for(lambda: self.filled > known or self.ended, timeout_s)

    def await_end(self, timeout_s: float) -> None:
        """Return when nothing is left to do or time is up."""
        with self._changed:
            self._changed.wait_for(lambda: self.ended, timeout_s)


def _tighten(bounds: TierBounds, bound: ConditionalBound) -> None:
    if bound.phase is Phase.KEEP:
        bounds.kept = min(bounds.kept, bound.value)
    elif bound.phase is Phase.PLACE and bound.value < bounds.placed:
        bounds.placed, bounds.place = bound.value, bound.proof
    elif bound.phase is Phase.DISRUPT and bound.value > bounds.disruption:
        bounds.disruption, bounds.disrupt = bound.value, bound.proof
