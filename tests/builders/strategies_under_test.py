"""Strategies that misbehave, each in one way; only tests register them."""

import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from stowage_optimizer.assignments.solution_writer import SolutionWriter
from stowage_optimizer.bounds.proofs import trivial_bounds
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.solution import Publish, Solution
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.strategies.lexicographic.strategy import LexicographicStrategy
from stowage_optimizer.strategies.registry import available_strategies
from stowage_optimizer.strategies.strategy import Strategy

PATH = "strategies_under_test:strategies"
"""The path under which a service's children find these."""

GATED = "strategies_under_test:gated"
GATE = "STOWAGE_TEST_GATE"
"""Names the pipe that holds up the start of a fork server."""

Misdeed = Callable[[Packing, Publish], Solution]


@dataclass(frozen=True, slots=True)
class Misbehaving:
    """Misbehaves, at once or once it has published what the default strategy finds."""

    misdeed: Misdeed
    at_once: bool = True

    def solve(self, packing: Packing, budget: TimeBudget, publish: Publish) -> Solution:
        """Publish good solutions or none, then do the deed."""
        if not self.at_once:
            LexicographicStrategy().solve(packing, budget, publish)
        return self.misdeed(packing, publish)


@dataclass(frozen=True, slots=True)
class TellLimit:
    """Does nothing, and says how many seconds it was given."""

    def solve(self, packing: Packing, budget: TimeBudget, publish: Publish) -> Solution:
        """Return a solution without changes, with the seconds as its message."""
        del publish
        writer = SolutionWriter(packing, budget.policy)
        bounds = trivial_bounds(packing)
        return writer.write(packing.current, bounds, repr(budget.limit_s))

    @property
    def is_self_contained(self) -> bool:
        """Return that nothing of its time is kept back for what is added."""
        return True


def strategies() -> Mapping[str, Strategy]:
    """Return what is installed and every misbehaving one."""
    return {
        **available_strategies(),
        "hang": Misbehaving(_hang, at_once=False),
        "hang-at-once": Misbehaving(_hang),
        "eat-memory": Misbehaving(_eat_memory, at_once=False),
        "crash": Misbehaving(_crash),
        "lie": Misbehaving(_lie),
        "tell-limit": TellLimit(),
    }


def gated() -> Mapping[str, Strategy]:
    """Return what is installed, once a test has opened the gate to write."""
    Path(os.environ[GATE]).read_bytes()
    return available_strategies()


def _hang(_packing: Packing, _publish: Publish) -> Solution:
    # Deaf to everything but SIGKILL, as an uninterruptible presolve is.
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    while True:
        pass


def _eat_memory(packing: Packing, _publish: Publish) -> Solution:
    hoard = bytearray(2**40)
    return Solution(packing, packing.current, message=f"{len(hoard)}")


def _crash(_packing: Packing, _publish: Publish) -> Solution:
    raise RuntimeError("a bug in the strategy")


def _lie(packing: Packing, publish: Publish) -> Solution:
    # Every pod to one node, whatever room there is, and no word about the tiers.
    wrong = Solution(packing, (0,) * len(packing.current))
    publish(wrong)
    return wrong
