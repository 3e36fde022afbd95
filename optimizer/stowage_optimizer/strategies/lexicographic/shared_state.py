"""What search and proof share: the best assignment, limits on any, and time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from stowage_optimizer.model.options import Clock
from stowage_optimizer.model.packing import Assignment
from stowage_optimizer.search.mending import Mender
from stowage_optimizer.search.problem import (
    NOWHERE,
    Flags,
    Indices,
    Problem,
    Value,
    value_of,
)
from stowage_optimizer.strategies.bounds import Proof, TierBounds

COUNTED_RATE = 100_000.0
"""Steps that count as one second where work is counted; a third of what a busy core
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
    counted
        Time passes only by work done: the same work, the same answer.
    """

    clock: Clock
    counted: bool
    _rate: float = FIRST_RATE
    _worked_s: float = field(default=0.0)

    def now(self) -> float:
        """Return seconds since an arbitrary, fixed moment."""
        return self._worked_s if self.counted else self.clock()

    def steps(self, seconds: float) -> int:
        """Return how many steps are worth ``seconds``."""
        rate = COUNTED_RATE if self.counted else self._rate
        return max(FEWEST, int(seconds * rate))

    def done(self, steps: int, began: float) -> None:
        """Note that ``steps`` were made since ``began``."""
        if self.counted:
            self._worked_s += steps / COUNTED_RATE
            return
        seconds = self.clock() - began
        if seconds > 0:
            # Slices grow at most fourfold, even with a coarse clock.
            self._rate = min(0.5 * self._rate + 0.5 * steps / seconds, 4 * self._rate)

    def spend_steps(self, steps: int) -> None:
        """Note ``steps`` made, which do not measure how fast others are."""
        self.spend(steps / COUNTED_RATE)

    def spend(self, seconds: float) -> None:
        """Note work that counts itself in seconds."""
        if self.counted:
            self._worked_s += seconds


@dataclass(slots=True)
class SharedState:
    """The incumbent and the bounds of one solve, shared between threads.

    A bound of a tier holds for every assignment that is as good as the incumbent in
    the tiers above, so that it stays true while those get better.

    Parameters
    ----------
    strict
        Whether running pods are kept before pending ones of their tier are placed.
    """

    problem: Problem
    strict: bool
    bounds: list[TierBounds]
    assignment: Indices = field(init=False)
    value: Value = field(init=False)
    version: int = 0
    closed: bool = False
    failure: Exception | None = None
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _on_close: list[Callable[[], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.assignment = self.problem.home
        self.value = value_of(self.problem, self.assignment, strict=self.strict)

    def offer(self, candidate: Indices, mender: Mender) -> bool:
        """Take ``candidate``, made whole, if it is better; return whether it was."""
        whole = mender.mend(candidate)
        value = value_of(self.problem, whole, strict=self.strict)
        with self._changed:
            if self.closed or value <= self.value:
                return False
            self.assignment, self.value = whole, value
            self.version += 1
            self._changed.notify_all()
            return True

    def read(self) -> tuple[int, Indices, list[TierBounds]]:
        """Return the version, the best assignment, and what is proved now."""
        with self._changed:
            bounds = [replace(one) for one in self.bounds]
            return self.version, self.assignment, bounds

    def snapshot(self) -> tuple[Value, Indices]:
        """Return the best assignment and its value, which belong together."""
        with self._changed:
            return self.value, self.assignment

    def limit_kept(self, tier: int, kept: int) -> None:
        """Note that no more running pods of ``tier`` can keep a node."""
        with self._changed:
            bounds = self.bounds[tier]
            bounds.kept = min(bounds.kept, kept)
            self._changed.notify_all()

    def limit_placed(self, tier: int, placed: int, proof: Proof) -> None:
        """Note that no more pods of ``tier`` and above can have a node."""
        with self._changed:
            bounds = self.bounds[tier]
            if placed < bounds.placed:
                bounds.placed, bounds.place = placed, proof
            self._changed.notify_all()

    def limit_disruption(
        self, tier: int, disruption: int, placed: int, proof: Proof
    ) -> None:
        """Note that placing ``placed`` pods or more disrupts at least so much."""
        with self._changed:
            if self.value[tier][1] < placed:
                return
            bounds = self.bounds[tier]
            if disruption > bounds.disruption:
                bounds.disruption, bounds.disrupt = disruption, proof
            self._changed.notify_all()

    def placing_proved(self, tier: int) -> bool:
        """Return whether the tier's first phase is at its limit."""
        kept, placed, _ = self.value[tier]
        bounds = self.bounds[tier]
        return (not self.strict or kept >= bounds.kept) and placed >= bounds.placed

    def proved(self, tier: int) -> bool:
        """Return whether ``tier`` and all tiers above are optimal."""
        return all(
            self.placing_proved(above)
            and -self.value[above][2] <= self.bounds[above].disruption
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
            self._changed.wait_for(
                lambda: self.version != seen or self.ended, timeout_s
            )

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


def as_assignment(nodes: Indices) -> Assignment:
    """Return node indices as strategies exchange them."""
    return tuple(None if node == NOWHERE else node for node in nodes.tolist())


def as_nodes(assignment: Assignment) -> Indices:
    """Return an assignment as compiled code takes it."""
    return np.array([NOWHERE if n is None else n for n in assignment], np.int32)
