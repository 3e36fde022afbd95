"""The budget of a stage: how long it may take, and what is kept back for later ones.

In a deterministic solve, time does not matter: nothing is kept back, nothing is late, and
every stage is bounded by its own counts.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace

from stowage_optimizer.model.options import Clock, Policy, SolveOptions

LARGEST_SEED = 2**31
"""The solvers take 31 bits of seed."""

SHORTEST_SOLVE_S = 0.001
"""Less than this is no time to solve anything in."""

HALF = 0.5
"""Part of a tier's reserve that each of the paper's two phases has."""


@dataclass(frozen=True, slots=True)
class TimeBudget:
    """What a stage may use.

    Parameters
    ----------
    options
        What was asked for: policy, limits, seed, threads, and whether the solve is deterministic.
    limit_s
        Seconds from the beginning of the stage; in a deterministic solve, steps of about
        a second each.
    """

    options: SolveOptions
    clock: Clock
    limit_s: float
    ends: float

    @classmethod
    def begin(cls, options: SolveOptions, clock: Clock) -> TimeBudget:
        """Return the budget of a whole solve that begins now."""
        limit_s = options.time_limit_s
        return cls(options, clock, limit_s, clock() + limit_s)

    @property
    def policy(self) -> Policy:
        """Which pods may be displaced."""
        return self.options.policy

    @property
    def deterministic(self) -> bool:
        """Whether work is counted in steps, so that it does not depend on time."""
        return self.options.deterministic

    @property
    def seed(self) -> int:
        """Seed of every random choice of a solver, below `LARGEST_SEED`."""
        return self.options.seed % LARGEST_SEED

    @property
    def threads(self) -> int:
        """Threads that a solver may use, at least 1."""
        return self.options.workers or len(os.sched_getaffinity(0))

    def left_s(self) -> float:
        """Return what is left, in seconds or in steps."""
        return self.limit_s if self.deterministic else self.ends - self.clock()

    def before(self, moment: float) -> bool:
        """Return whether ``moment`` is still to come; always in a deterministic solve."""
        return self.deterministic or self.clock() < moment

    def over(self) -> bool:
        """Return whether time is up."""
        return not self.deterministic and self.clock() > self.ends

    def part(self, limit_s: float, *, seed: int | None = None) -> TimeBudget:
        """Return a budget of ``limit_s`` from now on, perhaps with another seed."""
        options = self.options if seed is None else replace(self.options, seed=seed)
        return replace(self, options=options, limit_s=limit_s, ends=self.clock() + limit_s)

    def for_solver(self, limit_s: float) -> TimeBudget:
        """Return the budget of one call of a solver."""
        return self.part(max(SHORTEST_SOLVE_S, limit_s))

    def without(self, kept_s: float) -> TimeBudget:
        """Return what is left for the stages before one that needs ``kept_s``."""
        if self.deterministic:
            return self
        return replace(self, limit_s=self.limit_s - kept_s, ends=self.ends - kept_s)


@dataclass(frozen=True, slots=True)
class Reserve:
    """What a stage needs of the time limit, which the stages before it do not get.

    Parameters
    ----------
    pods_per_s
        Pods of a snapshot that it goes through in a second, at the least.
    """

    pods_per_s: float
    least_share: float
    most_share: float

    def of(self, limit_s: float, pods: int) -> float:
        """Return the seconds to keep back of ``limit_s``."""
        needed_s = max(self.least_share * limit_s, pods / self.pods_per_s)
        return min(needed_s, self.most_share * limit_s)

    def suffices(self, budget: TimeBudget, pods: int) -> bool:
        """Return whether the stage can go through all pods in its part of the limit."""
        return budget.deterministic or pods / self.pods_per_s <= (self.most_share * budget.limit_s)


@dataclass(slots=True)
class TimeSplit:
    """The paper's split between tiers and phases (``get_timeout``).

    A share alpha of the limit is reserved in equal parts for the tiers, each part in
    halves for its two phases. The rest, and what earlier phases saved, is a pool from
    which the current phase may take.

    Parameters
    ----------
    total
        The whole limit, in seconds or in steps.
    """

    total: float
    alpha: float
    tiers: int
    _pool: float = field(init=False)

    def __post_init__(self) -> None:
        self._pool = (1 - self.alpha) * self.total

    def phase(self, share: float = HALF) -> float:
        """Return what the next phase may use: ``share`` of its tier's, and the pool."""
        return share * self._reserve() + self._pool

    def spent(self, amount: float, share: float = HALF) -> None:
        """Charge ``amount`` to the phase that ended; what it saved joins the pool."""
        self._pool = max(0.0, self._pool + share * self._reserve() - amount)

    def _reserve(self) -> float:
        return self.alpha * self.total / max(1, self.tiers)
