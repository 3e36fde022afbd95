"""Strategies that misbehave, each in one way; only tests register them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from stowage_optimizer.model.options import Clock, SolveOptions
from stowage_optimizer.model.plan import EndReason, Plan
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.strategies.bounds import trivial_bounds
from stowage_optimizer.strategies.paper import PaperStrategy
from stowage_optimizer.strategies.planning import PlanWriter
from stowage_optimizer.strategies.reduced import reduced
from stowage_optimizer.strategies.registry import shipped_strategies
from stowage_optimizer.strategies.strategy import Answer, Strategy, end_reason_of

PATH = "strategies_under_test:strategies"
"""The path under which a service's children find these."""

GATED = "strategies_under_test:gated"
GATE = "STOWAGE_TEST_GATE"
"""Names the pipe that holds up the start of a fork server."""

Publish = Callable[[Plan], None]
Misdeed = Callable[[Snapshot, Publish], Answer]


@dataclass(frozen=True, slots=True)
class PaperThen:
    """Publishes what the paper's strategy finds, then misbehaves."""

    misdeed: Misdeed

    def solve(
        self,
        snapshot: Snapshot,
        options: SolveOptions,
        *,
        clock: Clock,
        publish: Publish,
    ) -> Answer:
        """Publish good plans, then do the deed."""
        PaperStrategy().solve(snapshot, options, clock=clock, publish=publish)
        return self.misdeed(snapshot, publish)


@dataclass(frozen=True, slots=True)
class AtOnce:
    """Misbehaves before it has published anything."""

    misdeed: Misdeed

    def solve(
        self,
        snapshot: Snapshot,
        options: SolveOptions,
        *,
        clock: Clock,
        publish: Publish,
    ) -> Answer:
        """Do the deed."""
        return self.misdeed(snapshot, publish)


@dataclass(frozen=True, slots=True)
class TellLimit:
    """Does nothing, and says how many seconds it was given."""

    def solve(
        self,
        snapshot: Snapshot,
        options: SolveOptions,
        *,
        clock: Clock,
        publish: Publish,
    ) -> Answer:
        """Return an empty plan, with the seconds as its message."""
        del clock, publish
        packing = reduced(snapshot)
        writer = PlanWriter(snapshot, packing, options.policy)
        plan = writer.write(packing.current, trivial_bounds(packing))
        return Answer(plan, end_reason_of(plan), message=repr(options.time_limit_s))

    @property
    def is_self_contained(self) -> bool:
        """Return that nothing of its time is kept back for what is added."""
        return True


def strategies() -> Mapping[str, Strategy]:
    """Return what is shipped and every misbehaving one."""
    return {
        **shipped_strategies(),
        "hang": PaperThen(_hang),
        "hang-at-once": AtOnce(_hang),
        "eat-memory": PaperThen(_eat_memory),
        "crash": AtOnce(_crash),
        "lie": AtOnce(_lie),
        "tell-limit": TellLimit(),
    }


def gated() -> Mapping[str, Strategy]:
    """Return what is shipped, once a test has opened the gate to write."""
    Path(os.environ[GATE]).read_bytes()
    return shipped_strategies()


def _hang(_snapshot: Snapshot, _publish: Publish) -> Answer:
    # Deaf to everything but SIGKILL, as an uninterruptible presolve is.
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    while True:
        pass


def _eat_memory(snapshot: Snapshot, _publish: Publish) -> Answer:
    hoard = bytearray(2**40)
    return Answer(Plan(f"{snapshot.id}{len(hoard)}"), EndReason.OPTIMAL)


def _crash(_snapshot: Snapshot, _publish: Publish) -> Answer:
    raise RuntimeError("a bug in the strategy")


def _lie(_snapshot: Snapshot, publish: Publish) -> Answer:
    wrong = Plan("another snapshot")
    publish(wrong)
    return Answer(wrong, EndReason.OPTIMAL)
