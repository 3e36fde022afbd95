"""Proofs: each open phase has its turn, and tries the cheapest that it has left.

A phase is tried only where everything before it is settled or at least reached, so that
no later result invalidates the premises of a proof. What is tried while the search goes
on is stored by what it depends on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from stowage_optimizer.bounds.question import Phase
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.search.mending import Mender
from stowage_optimizer.search.problem import without_slack
from stowage_optimizer.strategies.budget import Budget
from stowage_optimizer.strategies.lexicographic.attempt import Attempt
from stowage_optimizer.strategies.lexicographic.attempt_context import (
    ANYTHING,
    AttemptContext,
    OpenPhase,
)
from stowage_optimizer.strategies.lexicographic.shared_state import (
    SharedState,
    WorkClock,
)


@dataclass(slots=True)
class Prover:
    """Tightens the shared bounds, and offers what it finds on the way."""

    shared: SharedState
    packing: Packing
    budget: Budget
    work_clock: WorkClock
    _context: AttemptContext = field(init=False)
    _attempts: dict[tuple[object, ...], Attempt] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shared = self.shared
        self._context = AttemptContext(
            shared=shared,
            packing=self.packing,
            budget=self.budget,
            work_clock=self.work_clock,
            problem=without_slack(shared.problem),
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
        """Continue the open phase with the fewest stages; return whether any could."""
        attempts = [self._attempt(phase) for phase in self._open()]
        attempts.sort(key=lambda attempt: attempt.stages)
        return any(attempt.go_on(until) for attempt in attempts)

    def _attempt(self, phase: OpenPhase) -> Attempt:
        attempt = self._attempts.get(phase.premises)
        if attempt is None:
            attempt = Attempt(self._context, phase)
            self._attempts[phase.premises] = attempt
        return attempt

    def _open(self) -> Iterator[OpenPhase]:
        """Yield the open phases of the first tier that is not proved.

        The disruption is asked about also where placing is not settled: its bound
        holds for every assignment that places as many or more.
        """
        shared = self.shared
        value = shared.value
        for tier in range(shared.problem.tiers):
            if shared.proved(tier):
                continue
            kept, placed, stability = value[tier]
            bounds = shared.bounds[tier]
            if shared.strict and kept < bounds.kept:
                yield OpenPhase(tier, Phase.KEEP, value)
                return
            if placed < bounds.placed:
                yield OpenPhase(tier, Phase.PLACE, value)
            if -stability > bounds.disruption:
                yield OpenPhase(tier, Phase.DISRUPT, value)
            yield from self._below(tier)
            return

    def _below(self, tier: int) -> Iterator[OpenPhase]:
        """Yield what holds for the tiers below whatever the tiers above reach."""
        shared = self.shared
        for below in range(tier + 1, shared.problem.tiers):
            if shared.value[below][1] < shared.bounds[below].placed:
                value = (ANYTHING,) * shared.problem.tiers
                yield OpenPhase(below, Phase.PLACE, value)
